import type { RouterWorkerStats } from 'kvidx';
import type { Journal } from './journal.js';
import type { Question } from './question.js';
import type { KnownResidency, Told } from './residency.js';
import type { StateOfRouter, StateOfWorker } from './state.js';
import { noneIsUp, type WorkerHealth, type Workers } from './workers.js';

export interface StateSources {
  readonly residency: KnownResidency;
  readonly workers: Workers;
  readonly journal: Journal;
  readonly tokenizer: string;
}

/** What the router would do, did and knows: for people and programs that look at it. */
export class StateReader {
  readonly #sources: StateSources;
  readonly #startedAt = Date.now();

  constructor(sources: StateSources) {
    this.#sources = sources;
  }

  read(): StateOfRouter {
    const { residency, workers, journal, tokenizer } = this.#sources;
    const { router } = residency;
    const stats = router.stats(); // once: it walks the whole fleet
    const loads = new Map(stats.workers.map((load) => [load.worker, load]));
    const told = residency.told(stats);
    return {
      nowAt: Date.now(),
      startedAt: this.#startedAt,
      policy: router.policy.spec,
      blockSize: router.blockSize,
      tokenizer,
      models: workers.models(),
      totals: { ...journal.totals },
      workers: workers
        .all()
        .map((worker) => this.#worker(worker, loads.get(worker.name), told.get(worker.name))),
      decisions: journal.latest(),
    };
  }

  /** Where this request would go now, and why; and what the index says of its prompt. Changes nothing. Throws OpenAiError. */
  explain({ request, session, tokens, namespace }: Question) {
    const { workers, residency } = this.#sources;
    const { router } = residency;
    if (workers.all().every(({ status }) => status === 'down')) throw noneIsUp();
    const prompt = { tokens, ...(namespace && { namespace }) };
    const hasIndex = workers.all().some(({ name }) => residency.kind(name) !== 'sketch');
    return {
      session,
      tokens: tokens.length,
      blocks: Math.floor(tokens.length / router.blockSize),
      /** If it goes to one of these, another one gets the request. */
      withoutModel: workers.without(request.model),
      explanation: router.explain({ ...prompt, ...(session !== undefined && { session }) }),
      ...(hasIndex && { index: router.index.explain(prompt) }),
    };
  }

  #worker(
    { name, url, status, reason, hold }: WorkerHealth,
    load: RouterWorkerStats | undefined,
    { ageMs, degraded }: Partial<Told> = {},
  ): StateOfWorker {
    const { residency, journal } = this.#sources;
    const holdMs = Math.ceil(hold.leftMs);
    return {
      name,
      url,
      status,
      ...(reason !== undefined && { reason }),
      ...(holdMs > 0 && { holdMs }),
      residency: residency.kind(name),
      ...journal.worker(name),
      pendingPrefillTokens: load?.pendingPrefillTokens ?? 0,
      ...(load?.residentBlocks !== undefined && { residentBlocks: load.residentBlocks }),
      ...(ageMs !== undefined && { residencyAgeMs: ageMs }),
      ...(degraded !== undefined && { degraded }),
    };
  }
}
