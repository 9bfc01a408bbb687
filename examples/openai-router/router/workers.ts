import type { Router, RouterWorkerOptions } from 'kvidx';
import { type OpenAiError, overloaded } from '../openai/errors.js';
import { Hold } from './hold.js';
import { type LookOptions, lookAt, type Models, Unwell } from './look.js';
import type { WorkerPlace } from './options.js';
import type { UpstreamFailure } from './upstream.js';

/** A worker that answers /health wrongly, or not at all, so many times in a row is down; one that refuses connections is at once. */
const STRIKES = 3;
/** Requests fail in swarms: looks that they cause keep this distance. */
const LOOK_DISTANCE_MS = 250;

export interface WorkerHealth extends WorkerPlace {
  readonly status: 'up' | 'down';
  /** Why it is down. */
  readonly reason: string | undefined;
  readonly hold: Pick<Hold, 'leftMs'>;
}

interface Watched extends WorkerPlace {
  readonly hold: Hold;
  status: 'up' | 'down';
  reason: string | undefined;
  strikes: number;
  models: Models;
  checking: Promise<void> | undefined;
  /** When a request that failed last caused a look. */
  suspectedMs: number;
  timer: NodeJS.Timeout | undefined;
}

export interface WorkersOptions extends LookOptions {
  readonly places: readonly WorkerPlace[];
  readonly router: Router;
  readonly healthEveryMs: number;
  /** What the router is told of a worker that joins. */
  readonly joinAs: (name: string) => RouterWorkerOptions;
  /** It went down, or came up. `lost`: router's ids of the requests that were under way there. */
  readonly onChange: (worker: WorkerHealth, lost: readonly string[]) => void;
  readonly log: { warn(text: string): void; error(error: unknown): void };
}

/** The engines: which are up, and what they serve. They are looked at every so often, and whenever one seems to have failed. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #workers: readonly Watched[];
  #isClosed = false;

  constructor(options: WorkersOptions) {
    this.#options = options;
    this.#workers = options.places.map((place) => ({
      ...place,
      hold: new Hold(),
      status: 'down' as const,
      reason: 'not looked at yet',
      strikes: 0,
      models: new Map(),
      checking: undefined,
      suspectedMs: Number.NEGATIVE_INFINITY,
      timer: undefined,
    }));
  }

  /** Resolves when each was looked at once. */
  async start(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => this.#check(worker)));
  }

  close(): void {
    this.#isClosed = true;
    for (const { timer } of this.#workers) clearTimeout(timer);
  }

  all(): readonly WorkerHealth[] {
    return this.#workers;
  }

  urlOf(name: string): string {
    return this.#named(name).url;
  }

  /** One that is up serves it, or one did that is down, and may come back. True while none was ever up: nobody knows. */
  knows(model: string): boolean {
    return (
      this.#workers.every(({ models }) => models.size === 0) ||
      this.without(model).length < this.#workers.length
    );
  }

  /** Of all workers that are up, or where none is, of those that were. */
  models(): readonly string[] {
    return [...new Set(this.#known().flatMap(({ models }) => [...models.keys()]))];
  }

  /** What of an adapter is cached is its own. */
  loraOf(model: string): string | undefined {
    return this.#known().some(({ models }) => models.get(model) !== undefined) ? model : undefined;
  }

  /** Names of those that do not serve it. */
  without(model: string): string[] {
    return this.#workers.filter(({ models }) => !models.has(model)).map(({ name }) => name);
  }

  /** Names of those that failed requests of late: they get none for a while. */
  onHold(): readonly string[] {
    return this.#workers.filter(({ hold }) => hold.leftMs > 0).map(({ name }) => name);
  }

  /** It failed a request: it is put on hold, and looked at where that may tell more. */
  troubled(name: string, failure: UpstreamFailure): void {
    const worker = this.#named(name);
    if (worker.status === 'down') return;
    if (worker.hold.failed(failure)) {
      const seconds = (worker.hold.leftMs / 1000).toFixed(1);
      this.#options.log.warn(`${name} ${failure.message}: it gets no requests for ${seconds} s`);
    }
    const nowMs = performance.now();
    if (failure.failure === 'refused' || nowMs < worker.suspectedMs + LOOK_DISTANCE_MS) return;
    worker.suspectedMs = nowMs;
    void this.#check(worker);
  }

  /** It began to answer a request. */
  worked(name: string): void {
    this.#named(name).hold.end();
  }

  #named(name: string): Watched {
    return this.#workers.find((worker) => worker.name === name)!;
  }

  #known(): readonly Watched[] {
    const up = this.#workers.filter(({ status }) => status === 'up');
    return up.length > 0 ? up : this.#workers;
  }

  /** Never rejects. */
  #check(worker: Watched): Promise<void> {
    clearTimeout(worker.timer);
    worker.checking ??= this.#look(worker)
      .catch((error) => this.#options.log.error(error))
      .finally(() => {
        worker.checking = undefined;
        if (this.#isClosed) return;
        worker.timer = setTimeout(() => this.#check(worker), this.#options.healthEveryMs);
      });
    return worker.checking;
  }

  async #look(worker: Watched): Promise<void> {
    const found = await lookAt(worker.url, this.#options).catch((error: Unwell) => error);
    if (this.#isClosed) return;
    if (found instanceof Unwell) return this.#strike(worker, found);
    worker.models = found; // adapters come and go
    worker.strikes = 0;
    if (worker.status === 'down') this.#join(worker);
  }

  #strike(worker: Watched, { message, isGone }: Unwell): void {
    worker.strikes++;
    if (worker.status === 'up' && !isGone && worker.strikes < STRIKES) return;
    worker.reason = message;
    if (worker.status === 'up') this.#fail(worker);
  }

  #join(worker: Watched): void {
    const { router, joinAs, onChange } = this.#options;
    router.addWorker(worker.name, joinAs(worker.name));
    worker.status = 'up';
    worker.reason = undefined;
    worker.hold.end();
    onChange(worker, []);
  }

  #fail(worker: Watched): void {
    worker.status = 'down';
    this.#options.onChange(worker, this.#options.router.failWorker(worker.name));
  }
}

/** It may come back soon. */
export function noneIsUp(): OpenAiError {
  return overloaded('No worker that serves this model is up.', 1);
}
