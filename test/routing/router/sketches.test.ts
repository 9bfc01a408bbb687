import { describe, expect, test } from 'vitest';

import { Router } from '../../../src/routing/router.js';
import type { RouterSketchOptions } from '../../../src/routing/types.js';
import { BloomFilter } from '../../../src/sketch/bloom-filter.js';
import type { Degraded, FollowedSketch, SketchSource } from '../../../src/sketch/types.js';
import { codeOf, hashes } from '../../kv-index/support.js';
import { Random } from '../../property/random.js';
import { BLOCK, overlapsOf, policyOf, prompt, routerOf, routeTo, SPECS, serve, statsOf } from './support.js';

/** Sketches that are set, of workers of any name. */
class Sketches implements SketchSource {
  readonly blockSize = BLOCK;
  ageMs: number | undefined = 0;
  degraded: Degraded | undefined;
  readonly following: string[] = [];
  readonly #filters = new Map<string, BloomFilter>();

  /** The worker holds these blocks, and no others; false positives are too rare to be met. */
  set(worker: string, held: BigUint64Array): void {
    this.#filters.set(worker, BloomFilter.of(held, 1e-6));
  }

  follow(worker: string): FollowedSketch {
    this.following.push(worker);
    const filter = () => this.#filters.get(worker) ?? new BloomFilter(1);
    const source = this;
    return {
      worker,
      sketch: undefined,
      get degraded() {
        return source.degraded;
      },
      leadingBlocks: (seq) => filter().leadingBlocks(seq),
      countBlocks: (seq) => filter().countBlocks(seq),
      ageMs: () => this.ageMs,
      close: () => void this.following.splice(this.following.indexOf(worker), 1),
    };
  }
}

function sketched(workers: readonly string[], options: Omit<RouterSketchOptions, 'source'> = {}) {
  const source = new Sketches();
  const router = routerOf(workers, { residency: 'sketch', sketches: { source, ...options } });
  return { source, router };
}

describe('residency by sketch', () => {
  test('is what the sketch says, and not what the router sent or others stored', () => {
    const { source, router } = sketched(['a', 'b', 'c']);
    source.set('b', prompt(1, 4));
    serve(router, { seqHashes: prompt(1, 6) }, 'a');
    router.index.store(router.index.addWorker('c'), prompt(1, 6));
    expect(overlapsOf(router, prompt(1, 6))).toEqual({ a: 0, b: 4, c: 0 });
    expect(router.route({ seqHashes: prompt(1, 6) })).toMatchObject({
      worker: 'b',
      overlapBlocks: 4,
      cachedTokens: 4 * BLOCK,
      newTokens: 2 * BLOCK,
    });
  });

  test('counts a routed prompt until it is prefilled, where prompts count from the route on', () => {
    const source = new Sketches();
    const router = routerOf(['a'], { residency: 'sketch', sketches: { source }, recordAt: 'route' });
    const { requestId } = router.route({ seqHashes: prompt(1, 3) });
    expect(overlapsOf(router, prompt(1, 3))).toEqual({ a: 3 });
    router.onDispatch(requestId);
    router.onFirstToken(requestId);
    expect(overlapsOf(router, prompt(1, 3))).toEqual({ a: 0 });
  });

  test('follows a worker once, through drain and failure, until it leaves or the router is closed', () => {
    const { source, router } = sketched(['a', 'b']);
    router.addWorker('a');
    router.drainWorker('a');
    router.addWorker('a');
    router.failWorker('a');
    router.addWorker('a');
    expect(source.following.toSorted()).toEqual(['a', 'b']);
    router.removeWorker('a');
    expect(source.following).toEqual(['b']);
    router.close();
    expect(source.following).toEqual([]);
    router.close();
  });

  test('a worker that cannot be followed does not join', () => {
    const source: SketchSource = {
      blockSize: 24,
      follow: () => {
        throw new RangeError('no room');
      },
    };
    const router = new Router({ residency: 'sketch', sketches: { source } });
    expect(() => router.addWorker('a')).toThrow('no room');
    expect(router.workers()).toEqual([]);
    expect(router.index.workers()).toEqual([]);
  });

  test('larger counts the estimate, what is stored, and the sketch, whichever is most', () => {
    const source = new Sketches();
    const router = routerOf(['a', 'b', 'c'], { residency: 'larger', sketches: { source } });
    serve(router, { seqHashes: prompt(1, 3) }, 'a');
    router.index.store(router.index.addWorker('b'), prompt(1, 4));
    for (const worker of ['a', 'b', 'c']) source.set(worker, prompt(1, 2));
    expect(overlapsOf(router, prompt(1, 6))).toEqual({ a: 3, b: 4, c: 2 });
  });

  test('needs the option sketches', () => {
    expect(codeOf(() => new Router({ residency: 'sketch' }))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(codeOf(() => new Router().addWorker('a', { residency: 'sketch' }))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    for (const sketches of [{}, { source: {} }, { source: null }, null, 3]) {
      expect(codeOf(() => new Router({ sketches } as never))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
    }
    const source = new Sketches();
    for (const wrong of [{ maxStalenessMs: -1 }, { maxStalenessMs: Number.NaN }, { whenStale: 'never' }]) {
      expect(codeOf(() => new Router({ sketches: { source, ...wrong } as never }))).toBe(
        'ERR_KVIDX_OUT_OF_RANGE',
      );
    }
  });
});

describe('a sketch past maxStalenessMs', () => {
  const held = prompt(1, 12);

  test('is discounted by its age', () => {
    const { source, router } = sketched(['a'], { maxStalenessMs: 1000 });
    source.set('a', held);
    for (const [ageMs, blocks] of [
      [0, 12],
      [1000, 12],
      [1001, 11],
      [2000, 6],
      [13_000, 0],
    ] as const) {
      source.ageMs = ageMs;
      expect(overlapsOf(router, held)).toEqual({ a: blocks });
    }
  });

  test('is ignored where that is asked for', () => {
    const { source, router } = sketched(['a'], { maxStalenessMs: 1000, whenStale: 'ignore' });
    source.set('a', held);
    source.ageMs = 1000;
    expect(overlapsOf(router, held)).toEqual({ a: 12 });
    source.ageMs = 1001;
    expect(overlapsOf(router, held)).toEqual({ a: 0 });
  });

  test('is told in stats and explanations, as is one that is degraded or has not come', () => {
    const { source, router } = sketched(['a'], { maxStalenessMs: 1000 });
    source.set('a', held);
    const told = () => [
      statsOf(router, 'a').sketch,
      router.explain({ seqHashes: held }).candidates[0]!.sketch,
    ];
    source.ageMs = 4000;
    source.degraded = 'gap';
    for (const note of told()) expect(note).toEqual({ ageMs: 4000, degraded: 'gap', trust: 0.25 });
    source.ageMs = undefined;
    source.degraded = 'empty';
    for (const note of told()) expect(note).toEqual({ ageMs: undefined, degraded: 'empty', trust: 0 });
    expect(overlapsOf(router, held)).toEqual({ a: 0 });
    expect(router.explain({ seqHashes: held }).message).toMatch(
      /\(no sketch of it has come yet, degraded: empty\)\.$/,
    );
    source.ageMs = 5678;
    source.degraded = 'transport';
    expect(router.explain({ seqHashes: held }).message).toMatch(
      /\(by a sketch 5\.7 s old, which counts for 0\.18 of its blocks, degraded: transport\)\.$/,
    );
    expect(statsOf(routerOf(['a']), 'a')).not.toHaveProperty('sketch');
  });
});

describe('decisions by sketches are those by the same blocks, stored', () => {
  test.each([...SPECS, 'kv-aware:overlap=set', 'kv-aware:overlap=fair'])('%s', (spec) => {
    const random = new Random(5);
    const workers = ['a', 'b', 'c', 'd'];
    const source = new Sketches();
    const bySketch = routerOf(workers, { policy: policyOf(spec), residency: 'sketch', sketches: { source } });
    const byStore = routerOf(workers, { policy: policyOf(spec), residency: 'exact' });
    for (let turn = 0; turn < 200; turn++) {
      // Shared boilerplate of some length, then the session's own blocks; workers hold prefixes with holes behind them.
      const session = random.below(6);
      const seqHashes = BigUint64Array.from([...prompt(0, 5), ...prompt(1 + session, 1 + random.below(20))]);
      const worker = random.oneOf(workers);
      const held = byStore.index.addWorker(worker);
      byStore.index.store(held, seqHashes);
      if (random.oneIn(3)) byStore.index.remove(held, seqHashes.slice(random.below(seqHashes.length)));
      source.set(worker, byStore.index.enumerate(held));
      const decisions = [bySketch, byStore].map((router) =>
        serve(router, { requestId: `r${turn}`, session: `s${session}`, seqHashes }),
      );
      expect(decisions[0], `turn ${turn}`).toEqual(decisions[1]);
      const [one, other] = [bySketch, byStore].map((router) =>
        router
          .explain({ session: `s${session}`, seqHashes })
          .candidates.map(({ counted, overlapBlocks }) => [counted, overlapBlocks]),
      );
      expect(one).toEqual(other);
    }
  });
});

describe('a session’s sketch in an answer', () => {
  test('takes blocks that this session alone owns, and the worker does not hold, from its estimate', async () => {
    const { encodeFrame } = await import('../../../src/sketch/frame.js');
    const router = routerOf(['a', 'b']);
    const shared = hashes(1, 2);
    const mine = hashes(1, 2, 3, 4, 5, 6);
    serve(router, { session: 's', seqHashes: mine }, 'a');
    serve(router, { session: 't', seqHashes: shared }, 'a');
    const { requestId } = routeTo(router, 'a', { session: 's', seqHashes: mine });
    const frame = (change: object = {}) =>
      encodeFrame({
        ...{ kind: 'full', worker: 'a', session: 's', epoch: 1, sequence: 0, timestampMs: 0, keys: 2 },
        ...{ targetFpp: 1e-6, blockSize: BLOCK, filter: BloomFilter.of(hashes(3, 4), 1e-6) },
        ...change,
      } as never);

    const refused = [
      ...[{ session: 't' }, { worker: 'b' }, { session: undefined }, { blockSize: 24 }].map(frame),
      frame({ kind: 'delta', z: 1, indices: new Uint32Array(0), blocks: new Uint32Array(0) }),
      frame().subarray(1),
      new Uint8Array(0),
    ];
    for (const each of refused) {
      expect(codeOf(() => router.onSessionSketch(requestId, each))).toBe('ERR_KVIDX_BAD_FRAME');
    }
    expect(codeOf(() => router.onSessionSketch(requestId, 'frame' as never))).toBe(
      'ERR_KVIDX_INVALID_ARG_TYPE',
    );
    expect(codeOf(() => router.onSessionSketch('unknown', frame()))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(overlapsOf(router, mine)).toEqual({ a: 6, b: 0 });

    for (const residentTokens of [-1, 1.5, '3', Number.NaN]) {
      const told = () => router.onSessionSketch(requestId, frame(), { residentTokens } as never);
      expect(codeOf(told)).toMatch(/ERR_KVIDX_(OUT_OF_RANGE|INVALID_ARG_TYPE)/);
    }
    expect(overlapsOf(router, mine)).toEqual({ a: 6, b: 0 });
    router.onSessionSketch(requestId, frame());
    expect(overlapsOf(router, mine)).toEqual({ a: 4, b: 0 });
    router.onSessionSketch(requestId, frame(), { residentTokens: 5 * BLOCK + 9 });
    expect(overlapsOf(router, mine)).toEqual({ a: 5, b: 0 });
    router.onSessionSketch(requestId, frame({ kind: 'clear', z: 0 }));
    expect(overlapsOf(router, mine)).toEqual({ a: 2, b: 0 });
    router.onDispatch(requestId);
    expect(codeOf(() => router.onSessionSketch(requestId, frame()))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    router.close();
    expect(codeOf(() => router.onSessionSketch(requestId, frame()))).toBe('ERR_KVIDX_CLOSED');
  });

  test('leaves what the worker says it holds, though its owners are known otherwise here', async () => {
    const { encodeFrame } = await import('../../../src/sketch/frame.js');
    const router = routerOf(['a']);
    const [boilerplate, mine] = [prompt(0, 4), BigUint64Array.from([...prompt(0, 4), ...prompt(1, 2)])];
    serve(router, { session: 's', seqHashes: mine });
    serve(router, { session: 't', seqHashes: boilerplate });
    router.endSession('t'); // the worker thinks that t still shares the boilerplate: its sketch of s has none of it
    const { requestId } = router.route({ session: 's', seqHashes: mine });
    const filter = BloomFilter.of(prompt(1, 2), 1e-6);
    const head = { worker: 'a', session: 's', epoch: 1, sequence: 0, timestampMs: 0, keys: 2 };
    const frame = encodeFrame({ kind: 'full', ...head, targetFpp: 1e-6, blockSize: BLOCK, filter });
    router.onSessionSketch(requestId, frame, { residentTokens: 6 * BLOCK });
    expect(overlapsOf(router, mine)).toEqual({ a: 6 });
  });
});
