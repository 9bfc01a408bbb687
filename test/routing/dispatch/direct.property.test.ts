import { expect, test } from 'vitest';
import { type AdmitAnswer, admit } from '../../../src/routing/admit.js';
import { Dispatcher } from '../../../src/routing/dispatch/dispatcher.js';
import type { AdmissionRequest } from '../../../src/routing/dispatch/types.js';
import { Router } from '../../../src/routing/router.js';
import { Random, seedOfRun } from '../../property/random.js';
import { VirtualClock } from './support.js';

const BLOCK_SIZE = 4;
const MAX_APPEND = 40;
const POOL_SHARE = 0.95;

/** A worker that decides by the reference rule, on what it really holds. */
class Engine {
  readonly poolTokens: number;
  readonly resident = new Set<bigint>();
  readonly sessions = new Set<string | undefined>();
  /** Hashes of the requests that run here. */
  readonly running = new Map<string, readonly bigint[]>();

  constructor(poolTokens: number) {
    this.poolTokens = poolTokens;
  }

  figures(hashes: readonly bigint[]) {
    const absent = hashes.findIndex((hash) => !this.resident.has(hash));
    const pinned = new Set([...this.running.values()].flat());
    return {
      residentBlocks: absent < 0 ? hashes.length : absent,
      pinnedTokens: pinned.size * BLOCK_SIZE,
      pinnedPromptTokens: hashes.filter((hash) => pinned.has(hash)).length * BLOCK_SIZE,
    };
  }

  answer({ session, inputLength, firstTurn, seqHashes }: AdmissionRequest): AdmitAnswer {
    const { poolTokens } = this;
    const sessionKnown = this.sessions.has(session);
    const figures = this.figures([...seqHashes!]);
    const question = { ...figures, inputLength, firstTurn, sessionKnown, blockSize: BLOCK_SIZE, poolTokens };
    return admit(question, { maxAppendTokens: MAX_APPEND, poolShare: POOL_SHARE });
  }

  /** The design's words: the prompt's prefix is resident, the append is short, and it fits. */
  mustBeDirect(session: string, hashes: readonly bigint[]): boolean {
    const { residentBlocks, pinnedTokens, pinnedPromptTokens } = this.figures(hashes);
    const inputLength = hashes.length * BLOCK_SIZE;
    const append = inputLength - residentBlocks * BLOCK_SIZE;
    const fits = pinnedTokens + inputLength - pinnedPromptTokens <= POOL_SHARE * this.poolTokens;
    return this.sessions.has(session) && residentBlocks > 0 && append <= MAX_APPEND && fits;
  }

  run(session: string, requestId: string, hashes: readonly bigint[]): void {
    this.sessions.add(session);
    this.running.set(requestId, hashes);
    for (const hash of hashes) this.resident.add(hash);
  }

  /** Drops what is not pinned of one prompt, from its tail. */
  evict(hashes: readonly bigint[], from: number): void {
    const pinned = new Set([...this.running.values()].flat());
    for (const hash of hashes.slice(from)) if (!pinned.has(hash)) this.resident.delete(hash);
  }
}

const POLICIES = ['kv-aware:overlap=fair:k=200:by=work', 'kv-aware', 'lpwl', 'sticky', 'unified', 'random'];

test('a request whose worker holds its prefix goes there directly, and only such a one does', async () => {
  const seed = seedOfRun('direct');
  const seen = { direct: 0, other: 0 };
  for (let round = 0; round < 30; round++) {
    const random = new Random(seed + round);
    const clock = new VirtualClock();
    const router = new Router({
      policy: random.oneOf(POLICIES),
      blockSize: BLOCK_SIZE,
      now: () => clock.now(),
    });
    const engines = new Map<string, Engine>();
    for (const name of ['a', 'b', 'c'].slice(0, random.between(1, 3))) {
      engines.set(name, new Engine(random.between(100, 2000)));
      router.addWorker(name);
    }
    const dispatcher = new Dispatcher(router, {
      admit: (worker, request) => engines.get(worker)!.answer(request),
      maxPendingSeeds: 99,
      backoff: { baseMs: 0 },
      seed: round,
      clock,
    });
    const prompts = new Map<string, bigint[]>();
    let nextHash = 1n;
    for (let i = 0; i < 80; i++) {
      const session = `s${random.below(5)}`;
      const hashes = [...(prompts.get(session) ?? [])];
      for (let blocks = random.between(1, 14); blocks > 0; blocks--) hashes.push(nextHash++);
      prompts.set(session, hashes);

      const requestId = `r${i}`;
      const request = { session, seqHashes: BigUint64Array.from(hashes), requestId };
      const chosen = router.explain(request).worker;
      const mustBeDirect = engines.get(chosen)!.mustBeDirect(session, hashes);
      const { as, worker, attempts } = await dispatcher.dispatch(request);
      const first = attempts[0]!;
      const what = `KVIDX_SEED=${seed}, round ${round}, request ${i}`;
      // Chance is not explained in advance.
      if (first.worker === chosen) {
        expect(first.outcome === 'direct', what).toBe(mustBeDirect);
        if (mustBeDirect) expect([as, worker, attempts.length], what).toEqual(['direct', chosen, 1]);
        seen[mustBeDirect ? 'direct' : 'other'] += 1;
      }
      const engine = engines.get(worker)!;
      engine.run(session, requestId, hashes);
      router.onFirstToken(requestId);

      for (const running of engines.values()) {
        for (const id of running.running.keys()) {
          if (!random.oneIn(2)) continue;
          running.running.delete(id);
          router.onFinish(id);
        }
        if (random.oneIn(6)) {
          const victim = prompts.get(`s${random.below(5)}`) ?? [];
          running.evict(victim, random.below(victim.length + 1));
        }
      }
    }
    router.close();
  }
  expect(Math.min(seen.direct, seen.other)).toBeGreaterThan(200);
});
