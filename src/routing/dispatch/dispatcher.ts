import { invalidArgType, KvidxError } from '../../errors.js';
import type { AdmittedAs, Decision } from '../types.js';
import { abortable } from './abortable.js';
import { type AskOptions, ask } from './ask.js';
import { Backoff } from './backoff.js';
import { checkDispatcherOptions, checkRouter, checkSignal, type DispatcherSettings } from './options.js';
import { isAdmitted, type Reply } from './reply.js';
import { SeedBudget, type SeedPermit } from './seed-budget.js';
import type {
  AdmissionRequest,
  Attempt,
  Dispatched,
  DispatcherOptions,
  DispatcherStats,
  DispatchRequest,
  DispatchRouter,
  RefusalKind,
} from './types.js';

/** One dispatch under way. */
interface Flight {
  readonly requestId: string;
  readonly question: Omit<AdmissionRequest, 'signal' | 'newTokens' | 'firstTurn'>;
  readonly signal: AbortSignal | undefined;
  readonly backoff: Backoff;
  readonly attempts: Attempt[];
  readonly asked: Set<string>;
  /** Where it went. */
  worker: string | undefined;
}

/**
 * Finds a worker that takes a request: routes it, asks the worker, and goes on to the next one when that refuses.
 *
 *   route ─► ask ─┬─ direct ──────────────────────────────► onDispatch ─► dispatched
 *      ▲          ├─ seed, reseed ─► wait for its turn ───► onDispatch ─► dispatched
 *      │          └─ refused, late, nonsense ─┐    └─ none ─┐
 *      └── reroute ◄── pause ◄── onReject ◄───┴─────────────┘
 *                                    └─ nobody left: fallback by round-robin, unasked ─► dispatched
 *
 * Each worker is asked at most once, so that a dispatch ends within the sum over the workers of `admitTimeoutMs`, the
 * longest pause and `seedDeadlineMs`. Whatever a worker answers that is not taken is given to `release` when it admitted.
 */
export class Dispatcher {
  readonly #router: DispatchRouter;
  readonly #settings: DispatcherSettings;
  readonly #seeds: SeedBudget;
  readonly #dispatched: Record<AdmittedAs, number> = { direct: 0, seed: 0, reseed: 0, fallback: 0 };
  readonly #refused: Record<RefusalKind, number> = {
    'real-large-append': 0,
    'no-d-capacity': 0,
    'session-not-resident-no-capacity': 0,
    error: 0,
    timeout: 0,
    nonsense: 0,
    'seed-budget': 0,
    gone: 0,
  };
  readonly #counters = {
    ...{ pending: 0, aborted: 0, failed: 0 },
    ...{ badSketches: 0, lateAnswers: 0, releases: 0, releaseErrors: 0 },
  };
  #nextFallback = 0;
  #nextPrefill = 0;

  /** ERR_KVIDX_INVALID_ARG_TYPE, ERR_KVIDX_OUT_OF_RANGE. */
  constructor(router: DispatchRouter, options: DispatcherOptions) {
    this.#router = checkRouter(router);
    this.#settings = checkDispatcherOptions(options);
    this.#seeds = new SeedBudget(this.#settings.seeds, this.#settings.clock);
  }

  /**
   * Resolves when a worker has the request, and the router counts it there: then send it, and tell the router's hooks how
   * it goes. Rejects with what `route` throws, with the reason of an aborted `signal`, with ERR_KVIDX_NO_WORKERS (none
   * takes requests any more) or ERR_KVIDX_OUT_OF_RANGE (the request was ended meanwhile); the request is no longer under
   * way then. The request's arrays are read before this returns.
   */
  async dispatch(request: DispatchRequest): Promise<Dispatched> {
    if (typeof request !== 'object' || request === null)
      throw invalidArgType('request', 'an object', request);
    const signal = checkSignal(request.signal);
    signal?.throwIfAborted();
    const decision = this.#router.route(request);
    const { requestId } = decision;
    this.#counters.pending += 1;
    try {
      return await this.#run(this.#flight(request, signal, decision), decision);
    } catch (error) {
      this.#counters[signal?.aborted && error === signal.reason ? 'aborted' : 'failed'] += 1;
      this.#giveUp(requestId);
      throw error;
    } finally {
      this.#counters.pending -= 1;
    }
  }

  stats(): DispatcherStats {
    return {
      ...this.#counters,
      dispatched: { ...this.#dispatched },
      refused: { ...this.#refused },
      seeds: this.#seeds.counts(),
    };
  }

  #flight(
    { session, seqHashes }: DispatchRequest,
    signal: AbortSignal | undefined,
    decision: Decision,
  ): Flight {
    const { backoff, maxPauseMs, random, sketches } = this.#settings;
    const { requestId, cachedTokens, newTokens } = decision;
    const inputLength = cachedTokens + newTokens;
    const wantsSketch = sketches && session !== undefined; // nobody else can name it
    // Others run before the later workers are asked, and may use the array again.
    const copied = seqHashes && { seqHashes: new BigUint64Array(seqHashes) };
    return {
      requestId,
      question: { requestId, session, inputLength, wantsSketch, ...copied },
      signal,
      backoff: new Backoff(backoff, maxPauseMs, random),
      attempts: [],
      asked: new Set(),
      worker: undefined,
    };
  }

  async #run(flight: Flight, first: Decision): Promise<Dispatched> {
    const { requestId, attempts, asked, backoff, signal } = flight;
    let decision: Decision | undefined = first;
    while (decision !== undefined) {
      const { worker } = decision;
      asked.add(worker);
      const reply = await this.#offer(flight, decision);
      const { outcome } = reply;
      if (isAdmitted(outcome)) {
        attempts.push({ worker, outcome, pausedMs: 0 });
        return this.#result(flight, decision, outcome);
      }
      this.#refused[outcome] += 1;
      this.#router.onReject(requestId);
      const anyLeft = this.#router.workers().some(({ name, status }) => status === 'up' && !asked.has(name));
      const pausedMs = anyLeft ? backoff.next(reply.recommendedPauseMs) : 0;
      attempts.push({ worker, outcome, pausedMs, ...('error' in reply && { error: reply.error }) });
      if (pausedMs > 0)
        await abortable<void>(signal, (resolve) => this.#settings.clock.after(pausedMs, resolve));
      // Named, for one that failed and came back meanwhile has refused nothing.
      decision = this.#router.reroute(requestId, { without: asked });
    }
    return this.#fallback(flight);
  }

  /** Asks the worker, waits for its turn to seed, and dispatches the request there. */
  async #offer(flight: Flight, { worker, newTokens, firstTurn }: Decision): Promise<Reply> {
    const { requestId, question, signal } = flight;
    const { admit, admitTimeoutMs: timeoutMs, clock } = this.#settings;
    const onLate = ({ reserved }: Reply): void => {
      this.#counters.lateAnswers += 1;
      // The request may have come to this worker all the same, as a fallback: what is reserved is then its own.
      if (reserved && flight.worker !== worker) this.#release(worker, requestId);
    };
    const asking: AskOptions = { admit, timeoutMs, clock, signal, onLate };
    const { seqHashes } = question;
    // Its own copy: what it writes there, the next worker would be asked.
    const copied = seqHashes && { seqHashes: seqHashes.slice() };
    const reply = await ask(worker, { ...question, ...copied, newTokens, firstTurn }, asking);
    let permit: SeedPermit | undefined;
    let taken = false;
    try {
      signal?.throwIfAborted();
      this.#readSketch(flight, reply);
      const { outcome } = reply;
      if (!isAdmitted(outcome)) return reply;
      if (outcome !== 'direct') {
        permit = await this.#seeds.acquire(worker, signal);
        if (!permit) return { outcome: 'seed-budget', reserved: true };
        signal?.throwIfAborted();
      }
      if (!this.#accepts(requestId, worker, outcome)) return { outcome: 'gone', reserved: true };
      if (permit) this.#router.whenPrefilled(requestId, permit);
      taken = true;
      return reply;
    } finally {
      if (!taken) {
        permit?.();
        if (reply.reserved) this.#release(worker, requestId);
      }
    }
  }

  /** What the worker holds of the session counts before anything else is decided by its answer. */
  #readSketch({ requestId, question }: Flight, { sketch }: Reply): void {
    if (sketch === undefined || !question.wantsSketch) return;
    try {
      const { frame, residentTokens } = sketch;
      this.#router.onSessionSketch?.(requestId, frame as Uint8Array, { residentTokens });
    } catch (error) {
      // A request that has ended, or lost its worker, meanwhile is no fault of the sketch.
      const { code } = error as { code?: unknown };
      if (code === 'ERR_KVIDX_BAD_FRAME' || code === 'ERR_KVIDX_INVALID_ARG_TYPE')
        this.#counters.badSketches += 1;
    }
  }

  /** The worker may have failed, left or begun to drain since it was chosen, and the request may have ended. */
  #accepts(requestId: string, worker: string, admitted: AdmittedAs): boolean {
    try {
      const up = this.#router.workers().some(({ name, status }) => name === worker && status === 'up');
      return up && this.#router.onDispatch(requestId, { admitted });
    } catch {
      return false;
    }
  }

  #fallback(flight: Flight): Dispatched {
    const { requestId, signal } = flight;
    signal?.throwIfAborted();
    const up = this.#router.workers().filter(({ status }) => status === 'up');
    for (let tries = 0; tries < up.length; tries++) {
      const { name } = up[this.#nextFallback++ % up.length]!;
      const decision = this.#router.assign(requestId, name);
      if (this.#router.onDispatch(requestId, { admitted: 'fallback' }))
        return this.#result(flight, decision, 'fallback');
    }
    throw new KvidxError('ERR_KVIDX_NO_WORKERS', `no worker takes request "${requestId}"`);
  }

  #result(flight: Flight, decision: Decision, as: AdmittedAs): Dispatched {
    const { requestId, attempts } = flight;
    const { worker } = decision;
    const { prefillWorkers } = this.#settings;
    flight.worker = worker;
    this.#dispatched[as] += 1;
    const given = as !== 'direct' && prefillWorkers.length > 0;
    const prefill = given && { prefillWorker: prefillWorkers[this.#nextPrefill++ % prefillWorkers.length]! };
    return { requestId, worker, as, ...prefill, decision, attempts };
  }

  #giveUp(requestId: string): void {
    try {
      this.#router.onError(requestId);
    } catch {
      // What went wrong before says more.
    }
  }

  #release(worker: string, requestId: string): void {
    this.#counters.releases += 1;
    const released = new Promise((resolve) => resolve(this.#settings.release(worker, requestId)));
    released.catch(() => {
      this.#counters.releaseErrors += 1;
    });
  }
}
