import { abortable } from './abortable.js';
import type { Clock } from './clock.js';
import type { SeedCounts } from './types.js';

/*
 * A seed moves a whole KV cache. Too many at once to one worker slow each other down until they time out, are refused
 * and come again elsewhere as more seeds. So each worker has a few permits, and a short queue before them:
 *
 *   worker ─► held     leases, oldest first          at most maxPendingSeeds
 *          └► waiters  in order of coming            at most maxQueuedSeeds, each with a deadline
 *
 * I1 somebody waits ⇒ all permits are held
 * I2 one timer is set ⇔ somebody waits: at the end of the oldest lease or at the first deadline, whichever is earlier
 *
 * Leases need no timer of their own: where nobody waits, a lease that ran out is found by whoever comes next. All of a
 * worker have one length, and so have all deadlines: both sets are in order of their ends.
 */

export interface SeedLimits {
  readonly maxPendingSeeds: number;
  readonly maxQueuedSeeds: number;
  readonly seedDeadlineMs: number;
  readonly seedLeaseMs: number;
}

/** Gives the permit back; a second call, or one after the lease ran out, does nothing. */
export type SeedPermit = () => void;

interface Lease {
  readonly endsAt: number;
}

interface Waiter {
  readonly deadline: number;
  readonly settle: (permit: SeedPermit | undefined) => void;
}

export class SeedBudget {
  readonly #limits: SeedLimits;
  readonly #clock: Clock;
  readonly #workers = new Map<string, WorkerSeeds>();

  constructor(limits: SeedLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /**
   * A permit of that worker, in order of asking; undefined: the queue is full, or the deadline passed. Rejects with the
   * reason of an aborted signal, which leaves the queue.
   */
  acquire(worker: string, signal: AbortSignal | undefined): Promise<SeedPermit | undefined> {
    let seeds = this.#workers.get(worker);
    if (seeds === undefined) {
      seeds = new WorkerSeeds(this.#limits, this.#clock, () => this.#workers.delete(worker));
      this.#workers.set(worker, seeds);
    }
    return seeds.acquire(signal);
  }

  counts(): SeedCounts[] {
    for (const seeds of this.#workers.values()) seeds.update();
    return Array.from(this.#workers, ([worker, { pending, queued }]) => ({ worker, pending, queued }));
  }
}

class WorkerSeeds {
  readonly #limits: SeedLimits;
  readonly #clock: Clock;
  readonly #onIdle: () => void;
  readonly #held = new Set<Lease>();
  readonly #waiters = new Set<Waiter>();
  #cancelTimer: (() => void) | undefined;

  /** `onIdle`: nothing is held and nobody waits, so that this may be forgotten. */
  constructor(limits: SeedLimits, clock: Clock, onIdle: () => void) {
    this.#limits = limits;
    this.#clock = clock;
    this.#onIdle = onIdle;
  }

  get pending(): number {
    return this.#held.size;
  }

  get queued(): number {
    return this.#waiters.size;
  }

  acquire(signal: AbortSignal | undefined): Promise<SeedPermit | undefined> {
    const { maxPendingSeeds, maxQueuedSeeds, seedDeadlineMs } = this.#limits;
    const now = this.#clock.now();
    this.#settle(now);
    if (this.#held.size < maxPendingSeeds) return Promise.resolve(this.#grant(now));
    if (this.#waiters.size >= maxQueuedSeeds) return Promise.resolve(undefined);
    return abortable(signal, (resolve) => {
      const waiter = { deadline: now + seedDeadlineMs, settle: resolve };
      this.#waiters.add(waiter);
      this.#setTimer(now);
      return () => {
        this.#waiters.delete(waiter);
        this.update();
      };
    });
  }

  /** Brings everything up to the present. */
  update(): void {
    this.#settle(this.#clock.now());
    if (this.#held.size === 0) this.#onIdle();
  }

  /** Drops leases that ran out, lets those who wait go on while there are permits, then those whose deadline passed. */
  #settle(now: number): void {
    for (const lease of this.#held) {
      if (lease.endsAt > now) break;
      this.#held.delete(lease);
    }
    for (const waiter of this.#waiters) {
      const free = this.#held.size < this.#limits.maxPendingSeeds;
      if (!free && waiter.deadline > now) break;
      this.#waiters.delete(waiter);
      waiter.settle(free ? this.#grant(now) : undefined);
    }
    this.#setTimer(now);
  }

  #setTimer(now: number): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const [first] = this.#waiters;
    if (first === undefined) return;
    const [oldest] = this.#held;
    const ms = Math.min(first.deadline, oldest!.endsAt) - now;
    this.#cancelTimer = this.#clock.after(ms, () => this.update());
  }

  #grant(now: number): SeedPermit {
    const lease = { endsAt: now + this.#limits.seedLeaseMs };
    this.#held.add(lease);
    return () => {
      if (this.#held.delete(lease)) this.update();
    };
  }
}
