import type { Router, RouterWorkerOptions } from 'kvidx';
import { type Dispatcher, request } from 'undici';
import { type OpenAiError, overloaded } from '../openai/errors.js';
import type { WorkerPlace } from './options.js';
import { troubleOf } from './upstream.js';

/** A worker that answers /health wrongly, or not at all, so many times in a row is down; one that refuses connections is at once. */
const STRIKES = 3;
const HEALTH_TIMEOUT_MS = 2000;

export interface WorkerHealth extends WorkerPlace {
  readonly status: 'up' | 'down';
  /** Why it is down. */
  readonly reason: string | undefined;
}

interface Watched extends WorkerPlace {
  status: 'up' | 'down';
  reason: string | undefined;
  strikes: number;
  /** Model → the model that it is a LoRA adapter of, or undefined. */
  models: ReadonlyMap<string, string | undefined>;
  checking: Promise<void> | undefined;
  timer: NodeJS.Timeout | undefined;
}

export interface WorkersOptions {
  readonly places: readonly WorkerPlace[];
  readonly router: Router;
  readonly dispatcher: Dispatcher;
  readonly healthEveryMs: number;
  /** What the router is told of a worker that joins. */
  readonly joinAs: (name: string) => RouterWorkerOptions;
  /** It went down, or came up. `lost`: router's ids of the requests that were under way there. */
  readonly onChange: (worker: WorkerHealth, lost: readonly string[]) => void;
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
      status: 'down' as const,
      reason: 'not looked at yet',
      strikes: 0,
      models: new Map(),
      checking: undefined,
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
    return this.#workers.find((worker) => worker.name === name)!.url;
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

  /** It failed a request: it is looked at now. */
  suspect(name: string): Promise<void> {
    return this.#check(this.#workers.find((worker) => worker.name === name)!);
  }

  #known(): readonly Watched[] {
    const up = this.#workers.filter(({ status }) => status === 'up');
    return up.length > 0 ? up : this.#workers;
  }

  #check(worker: Watched): Promise<void> {
    clearTimeout(worker.timer);
    worker.checking ??= this.#look(worker).finally(() => {
      worker.checking = undefined;
      if (this.#isClosed) return;
      worker.timer = setTimeout(() => this.#check(worker), this.#options.healthEveryMs);
    });
    return worker.checking;
  }

  async #look(worker: Watched): Promise<void> {
    try {
      await this.#get(worker, '/health');
      worker.models = readModels(await this.#get(worker, '/v1/models')); // adapters come and go
      if (this.#isClosed) return;
      worker.strikes = 0;
      if (worker.status === 'down') this.#join(worker);
    } catch (error) {
      if (this.#isClosed) return;
      worker.strikes++;
      const isGone = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
      if (worker.status === 'up' && !isGone && worker.strikes < STRIKES) return;
      worker.reason = error instanceof WrongAnswer ? error.message : troubleOf(error);
      if (worker.status === 'up') this.#fail(worker);
    }
  }

  async #get({ url }: Watched, path: string): Promise<string> {
    const { statusCode, body } = await request(url + path, {
      dispatcher: this.#options.dispatcher,
      headersTimeout: HEALTH_TIMEOUT_MS,
      bodyTimeout: HEALTH_TIMEOUT_MS,
    });
    const text = await body.text();
    if (statusCode !== 200) throw new WrongAnswer(`answers ${path} with ${statusCode}`);
    return text;
  }

  #join(worker: Watched): void {
    const { router, joinAs, onChange } = this.#options;
    router.addWorker(worker.name, joinAs(worker.name));
    worker.status = 'up';
    worker.reason = undefined;
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

/** A worker answered, but not as one that is up does. */
class WrongAnswer extends Error {
  override readonly name = 'WrongAnswer';
}

/** As vLLM and SGLang answer /v1/models: an adapter names its `parent`. */
function readModels(text: string): Map<string, string | undefined> {
  try {
    const { data } = JSON.parse(text) as { data: { id: unknown; parent?: unknown }[] };
    return new Map(
      data.map(({ id, parent }) => [String(id), typeof parent === 'string' ? parent : undefined]),
    );
  } catch {
    throw new WrongAnswer('answers /v1/models without a list of models');
  }
}
