import type { AdmitAnswer } from '../../../src/routing/admit.js';
import { Dispatcher } from '../../../src/routing/dispatch/dispatcher.js';
import type {
  AdmissionRequest,
  Dispatched,
  DispatcherOptions,
  DispatchRouter,
} from '../../../src/routing/dispatch/types.js';
import type { DispatchedOptions } from '../../../src/routing/types.js';
import type { Random } from '../../property/random.js';
import { admitted, never, refused, type VirtualClock } from './support.js';

/** A router that a crowd can break. */
export interface World {
  readonly router: DispatchRouter & { onFinish(id: string): boolean; onFirstToken(id: string): unknown };
  join(worker: string): void;
  fail(worker: string): void;
  drain(worker: string): void;
  remove(worker: string): void;
  /** Refusals remembered of this session on this worker. */
  rejects(session: string | undefined, worker: string): number;
  /** Requests that the router remembers, and load that it counts. */
  leftovers(): number;
}

/** One answer of a worker that said `admitted: true`. */
export interface Admission {
  readonly worker: string;
  readonly requestId: string;
  readonly answeredAt: number;
  released: number;
}

export interface Journey {
  readonly requestId: string;
  readonly session: string | undefined;
  readonly startedAt: number;
  readonly asked: string[];
  /** Ended by somebody else than the dispatcher while it was under way. */
  ended: boolean;
  aborted: boolean;
  endedAt?: number;
  result?: Dispatched;
  error?: unknown;
}

/** A seed as an onlooker counts it: from its dispatch to the end of its prefill or of its lease. */
interface Seed {
  readonly requestId: string;
  readonly leaseEndsAt: number;
}

const WORKERS = ['a', 'b', 'c', 'd', 'e'];
const NONSENSE = [undefined, null, 'yes', {}, { admitted: 1 }, { admitted: false }, { admitted: true }];

/**
 * Dispatches of a seeded random crowd to workers that admit, refuse, throw, hang, lie and answer late, that fail, drain,
 * leave and come back; callers that abort, forget their hooks, and end requests that are under way. `problems` collects
 * what an onlooker sees that must not be.
 */
export class Crowd {
  readonly clock: VirtualClock;
  readonly problems: string[] = [];
  readonly journeys = new Map<string, Journey>();
  readonly admissions: Admission[] = [];
  readonly options: Required<
    Pick<
      DispatcherOptions,
      'admitTimeoutMs' | 'maxPauseMs' | 'maxPendingSeeds' | 'seedDeadlineMs' | 'seedLeaseMs'
    >
  > & { readonly maxBackoffMs: number };
  readonly dispatcher: Dispatcher;
  readonly #random: Random;
  readonly #world: World;
  /** How bad each worker's answers are, 0 … 1. */
  readonly #moods = new Map<string, number>();
  readonly #seeds = new Map<string, Set<Seed>>();
  readonly #lastSeedAnsweredAt = new Map<string, number>();
  #requests = 0;

  constructor(random: Random, world: World, clock: VirtualClock) {
    this.clock = clock;
    this.#random = random;
    this.#world = world;
    this.options = {
      admitTimeoutMs: random.between(1, 200),
      maxPauseMs: random.between(0, 300),
      maxPendingSeeds: random.between(1, 3),
      seedDeadlineMs: random.between(0, 500),
      seedLeaseMs: random.between(1, 2000),
      maxBackoffMs: random.between(0, 300),
    };
    const { maxBackoffMs: maxMs, ...options } = this.options;
    for (const worker of WORKERS.slice(0, random.between(1, WORKERS.length))) world.join(worker);
    for (const worker of WORKERS) this.#moods.set(worker, random.oneOf([0, 0.3, 0.7, 1]));
    this.dispatcher = new Dispatcher(this.#watched(world.router), {
      ...options,
      maxQueuedSeeds: random.between(0, 6),
      backoff: {
        baseMs: random.between(0, 100),
        factor: random.between(1, 3),
        maxMs,
        jitter: random.uniform(),
      },
      prefillWorkers: random.oneOf([[], ['p'], ['p', 'q']]),
      admit: (worker, request) => this.#answer(worker, request),
      release: (worker, requestId) => this.#release(worker, requestId),
      seed: random.below(2 ** 32),
      clock: this.clock,
    });
  }

  /** Lets that many requests come, and everything come to its end. */
  async run(requests: number): Promise<void> {
    const random = this.#random;
    for (let i = 0; i < requests; i++) {
      this.clock.after(random.below(3000), () => void this.#request());
    }
    for (let i = random.below(12); i > 0; i--) this.clock.after(random.below(3500), () => this.#upset());
    await this.clock.drain();
  }

  async #request(): Promise<void> {
    const random = this.#random;
    const requestId = `r${this.#requests++}`;
    const controller = new AbortController();
    const session = random.oneIn(4) ? undefined : `s${random.below(6)}`;
    const startedAt = this.clock.now();
    const journey: Journey = { requestId, session, startedAt, asked: [], ended: false, aborted: false };
    this.journeys.set(requestId, journey);
    if (random.oneIn(8)) {
      this.clock.after(random.below(400), () => {
        journey.aborted ||= journey.endedAt === undefined;
        controller.abort('aborted');
      });
    }
    if (random.oneIn(30)) {
      this.clock.after(random.below(400), () => {
        if (journey.endedAt === undefined) journey.ended = this.#world.router.onError(requestId);
      });
    }
    const tokens = Array.from({ length: random.between(1, 60) }, () => random.below(3));
    try {
      const { signal } = controller;
      journey.result = await this.dispatcher.dispatch({
        tokens,
        requestId,
        signal,
        ...(session && { session }),
      });
      this.#serve(requestId);
    } catch (error) {
      journey.error = error;
    }
    journey.endedAt = this.clock.now();
  }

  /** What comes after the dispatch: a first token and an end, or nothing that the router hears of. */
  #serve(requestId: string): void {
    const random = this.#random;
    const { router } = this.#world;
    if (random.oneIn(10)) return;
    const prefill = random.below(400);
    if (random.oneIn(8)) this.clock.after(prefill, () => void router.onError(requestId));
    else if (random.oneIn(20)) {
      this.clock.after(prefill, () => {
        router.onReject(requestId);
        router.onError(requestId);
      });
    } else {
      this.clock.after(prefill, () => void router.onFirstToken(requestId));
      this.clock.after(prefill + random.below(400), () => void router.onFinish(requestId));
    }
  }

  #upset(): void {
    const worker = this.#random.oneOf(WORKERS);
    const present = this.#world.router.workers().some(({ name }) => name === worker);
    if (!present || this.#random.oneIn(3)) this.#world.join(worker);
    else this.#world[this.#random.oneOf(['fail', 'drain', 'remove'] as const)](worker);
  }

  #answer(worker: string, { requestId, signal }: AdmissionRequest): AdmitAnswer | Promise<AdmitAnswer> {
    const random = this.#random;
    this.journeys.get(requestId)!.asked.push(worker);
    const bad = random.uniform() < this.#moods.get(worker)!;
    const answer = (
      bad ? this.#badAnswer() : admitted(random.oneOf(['direct', 'seed', 'reseed']))
    ) as AdmitAnswer;
    const note = (): AdmitAnswer => {
      if (answer?.admitted === true) {
        const answeredAt = this.clock.now();
        this.admissions.push({ worker, requestId, answeredAt, released: 0 });
      }
      return answer;
    };
    if (bad && random.oneIn(6)) return never();
    if (bad && random.oneIn(6)) throw new Error('broken');
    if (bad && random.oneIn(6)) return Promise.reject(new Error('broken'));
    if (random.oneIn(10))
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    if (random.oneIn(3)) return note();
    return this.clock.sleep(random.below(bad ? 500 : 100)).then(note);
  }

  #badAnswer(): unknown {
    const random = this.#random;
    if (random.oneIn(4)) return random.oneOf(NONSENSE);
    const pause = random.oneOf([undefined, 0, random.below(1000), 1e12, -5, Number.NaN]);
    return refused(random.oneOf(['real-large-append', 'no-d-capacity']), pause);
  }

  #release(worker: string, requestId: string): Promise<void> | undefined {
    const admission = this.admissions.find((of) => of.worker === worker && of.requestId === requestId);
    if (admission === undefined) this.problems.push(`${requestId} was released on ${worker}, unasked for`);
    else admission.released += 1;
    if (this.#random.oneIn(5)) throw new Error('release throws');
    return this.#random.oneIn(5) ? Promise.reject(new Error('release rejects')) : undefined;
  }

  /** The router, with somebody who looks on at every dispatch. */
  #watched(router: World['router']): DispatchRouter {
    return {
      route: (request) => router.route(request),
      reroute: (id, options) => router.reroute(id, options),
      assign: (id, worker) => router.assign(id, worker),
      onReject: (id) => router.onReject(id),
      onError: (id) => router.onError(id),
      workers: () => router.workers(),
      onDispatch: (id, options) => this.#onDispatch(id, options),
      whenPrefilled: (id, callback) => router.whenPrefilled(id, callback),
    };
  }

  #onDispatch(requestId: string, options: DispatchedOptions = {}): boolean {
    const { router } = this.#world;
    const dispatched = router.onDispatch(requestId, options);
    const { asked, session } = this.journeys.get(requestId)!;
    const worker = asked.at(-1)!;
    if (!dispatched || options.admitted === 'fallback') return dispatched;
    const status = router.workers().find(({ name }) => name === worker)?.status;
    if (status !== 'up') this.problems.push(`${requestId} went to ${worker}, which is ${status}`);
    if (this.#world.rejects(session, worker)) this.problems.push(`${session} is still refused on ${worker}`);
    if (options.admitted !== 'direct') this.#countSeed(worker, requestId);
    return dispatched;
  }

  #countSeed(worker: string, requestId: string): void {
    const now = this.clock.now();
    const seeds = this.#seeds.get(worker) ?? new Set();
    this.#seeds.set(worker, seeds);
    for (const seed of seeds) if (seed.leaseEndsAt <= now) seeds.delete(seed);
    const seed = { requestId, leaseEndsAt: now + this.options.seedLeaseMs };
    seeds.add(seed);
    if (seeds.size > this.options.maxPendingSeeds) this.problems.push(`${seeds.size} seeds on ${worker}`);
    this.#world.router.whenPrefilled(requestId, () => seeds.delete(seed));

    const { answeredAt } = this.admissions.find((of) => of.worker === worker && of.requestId === requestId)!;
    const last = this.#lastSeedAnsweredAt.get(worker) ?? 0;
    if (answeredAt < last) this.problems.push(`${requestId} was overtaken on ${worker}`);
    this.#lastSeedAnsweredAt.set(worker, answeredAt);
  }
}
