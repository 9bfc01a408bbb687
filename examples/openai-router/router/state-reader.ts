import type { Question } from './completions.js';
import type { Journal } from './journal.js';
import type { KnownResidency } from './residency.js';
import type { StateOfRouter, StateOfWorker } from './state.js';
import type { WorkerHealth, Workers } from './workers.js';

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

  /** Where this request would go now, and why; and what the index says of its prompt. Changes nothing. */
  explain({ session, tokens, namespace }: Question) {
    const { router } = this.#sources.residency;
    return {
      session,
      tokens: tokens.length,
      blocks: Math.floor(tokens.length / router.blockSize),
      explanation: router.explain({
        tokens,
        ...(session !== undefined && { session }),
        ...(namespace && { namespace }),
      }),
      index: router.index.explain({ tokens, ...(namespace && { namespace }) }),
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
