import type { Journal } from './journal.js';
import type { Question } from './question.js';
import type { KnownResidency } from './residency.js';
import type { StateOfRouter, StateOfWorker } from './state.js';
import { noneIsUp, type WorkerHealth, type Workers } from './workers.js';

export interface StateSources {
  readonly residency: KnownResidency;
  readonly workers: Workers;
  readonly journal: Journal;
  readonly policy: string;
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
    const { residency, workers, journal, policy, tokenizer } = this.#sources;
    const { router } = residency;
    return {
      nowAt: Date.now(),
      startedAt: this.#startedAt,
      policy,
      blockSize: router.blockSize,
      tokenizer,
      models: workers.models(),
      totals: { ...journal.totals },
      workers: workers.all().map((worker) => this.#worker(worker)),
      decisions: journal.latest(),
    };
  }

  /** Where this request would go now, and why; and what the index says of its prompt. Changes nothing. Throws OpenAiError. */
  explain({ request, session, tokens, namespace }: Question) {
    const { workers, residency } = this.#sources;
    const { router } = residency;
    if (workers.all().every(({ status }) => status === 'down')) throw noneIsUp();
    const prompt = { tokens, ...(namespace && { namespace }) };
    return {
      session,
      tokens: tokens.length,
      blocks: Math.floor(tokens.length / router.blockSize),
      /** If it goes to one of these, another one gets the request. */
      withoutModel: workers.without(request.model),
      explanation: router.explain({ ...prompt, ...(session !== undefined && { session }) }),
      index: router.index.explain(prompt),
    };
  }

  #worker({ name, url, status, reason }: WorkerHealth): StateOfWorker {
    const { residency, journal } = this.#sources;
    const load = residency.router.stats().workers.find(({ worker }) => worker === name);
    const { requests, promptTokens, expectedTokens } = journal.worker(name);
    const ageMs = residency.ageMs(name);
    const degraded = residency.degraded(name);
    return {
      name,
      url,
      status,
      ...(reason !== undefined && { reason }),
      residency: residency.kind(name),
      running: load?.numRequests ?? 0,
      pendingPrefillTokens: load?.pendingPrefillTokens ?? 0,
      requests,
      promptTokens,
      expectedTokens,
      ...(load?.residentBlocks !== undefined && { residentBlocks: load.residentBlocks }),
      ...(ageMs !== undefined && { residencyAgeMs: ageMs }),
      ...(degraded !== undefined && { degraded }),
    };
  }
}
