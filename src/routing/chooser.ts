import { KvidxError, outOfRange } from '../errors.js';
import { Candidates } from './candidates.js';
import { hasCooledDown, migrationTarget } from './migration.js';
import type { RouterSettings } from './options.js';
import type { Policy } from './policy/policy.js';
import type { ResidencyView } from './residency.js';
import type { RouterState } from './state/router-state.js';
import type { SessionRecord } from './state/session-table.js';
import type { WorkerRecord } from './state/worker-table.js';

/** Of a worker's pool, what running requests may take before no other session is moved there. */
const POOL_SHARE = 0.95;

/** A request that looks for a worker, and those that may take it. */
export interface Question {
  readonly session: SessionRecord;
  readonly workers: readonly WorkerRecord[];
  readonly hashes: BigUint64Array;
  readonly inputLength: number;
  readonly nowMs: number;
}

/** From what is known of workers to a decision among them; changes nothing but the policy's own counters. */
export class Chooser {
  /** What the policy sees of the question that was considered last. */
  readonly candidates = new Candidates(8);
  readonly #settings: RouterSettings;
  readonly #residency: ResidencyView;
  readonly #state: RouterState;
  #deciding = false;

  constructor(settings: RouterSettings, residency: ResidencyView, state: RouterState) {
    this.#settings = settings;
    this.#residency = residency;
    this.#state = state;
  }

  /** Fills the candidates' columns. */
  consider({ session, workers, hashes, inputLength, nowMs }: Question): void {
    const { candidates } = this;
    const { policy, index } = this.#settings;
    if (this.#deciding)
      throw new KvidxError('ERR_KVIDX_INTERNAL', 'a policy asked its own router for a decision');
    candidates.reserve(workers.length);
    candidates.count = workers.length;
    candidates.inputLength = inputLength;
    this.#residency.measure(candidates, workers, hashes, session.name, policy.counts);
    const { home } = session;
    candidates.hasHome = home !== undefined;
    candidates.home = -1;
    const workUnit = this.#state.workers.workUnit(nowMs);
    for (let place = 0; place < workers.length; place++) {
      const worker = workers[place]!;
      if (worker === home) candidates.home = place;
      /*
       * Requests on their way are load: a burst is not to see one idle worker. Where prompts count from the route on,
       * siblings are to meet, and their work does not part them.
       */
      const { routed } = worker;
      const meets = worker.places.expected !== undefined;
      const routedNewTokens = meets ? 0 : worker.routedNewTokens;
      const cached = Math.min(candidates.overlapBlocks[place]! * index.blockSize, inputLength);
      candidates.cacheHitTokens[place] = cached;
      candidates.inflight[place] = worker.inflight + routed;
      candidates.assigned[place] = worker.assigned + (meets ? 0 : routed);
      candidates.work[place] = worker.work * workUnit + routedNewTokens;
      candidates.rejects[place] = this.#state.refusals(session, worker, nowMs);
      candidates.pendingPrefillTokens[place] = worker.pendingPrefillTokens + routedNewTokens;
      candidates.numRequests[place] = worker.inflight + routed;
      candidates.ongoingDecodeTokens[place] = worker.ongoingDecodeTokens;
    }
  }

  /** Considers the question and decides it: the place among its workers. */
  choose(question: Question): { readonly place: number; readonly migrated: boolean } {
    this.consider(question);
    const { policy } = this.#settings;
    const place = this.#decide(policy);
    const worker = question.workers[place];
    if (worker?.status !== 'up') {
      throw outOfRange(`what policy ${policy.spec} decides`, 'the place of a worker that is up', place);
    }
    const target = this.moveFrom(place, question);
    return target < 0 ? { place, migrated: false } : { place: target, migrated: true };
  }

  /** A policy of the caller's may do anything but ask for a decision here, which would change what it looks at. */
  #decide(policy: Policy): number {
    this.#deciding = true;
    try {
      return policy.decide(this.candidates);
    } finally {
      this.#deciding = false;
    }
  }

  /** Where the session of the considered question moves instead of staying in this place; −1: it does not move. */
  moveFrom(place: number, { session, workers, inputLength, nowMs }: Omit<Question, 'hashes'>): number {
    const { migration } = this.#settings;
    const { pendingPrefillTokens, rejects, count, home } = this.candidates;
    if (!migration || place !== home || !hasCooledDown(nowMs, session.movedMs, migration.cooldownMs))
      return -1;
    return migrationTarget(pendingPrefillTokens, count, home, migration.hotTokens, (other) => {
      const { poolTokens = Number.POSITIVE_INFINITY, runningTokens, routedTokens } = workers[other]!;
      const fits = runningTokens + routedTokens + inputLength <= POOL_SHARE * poolTokens;
      return fits && rejects[other] === 0;
    });
  }
}
