import type { Decision } from 'kvidx';
import type { Usage } from './sse.js';
import type { DecisionTold, Outcome, Totals } from './state.js';

/** Decisions that are shown. */
const KEPT = 50;

export interface WorkerTotals {
  /** Under way there now. */
  readonly running: number;
  readonly requests: number;
  readonly promptTokens: number;
  readonly expectedTokens: number;
}

type Changing<T> = { -readonly [K in keyof T]: T[K] };

/** What befell a request. */
export interface Entry {
  /** It was sent to a worker; again, when another one failed before. */
  sent(decision: Decision): void;
  /** Of a stream. */
  firstToken(): void;
  /** As its worker told it. */
  told(usage: Usage): void;
  ended(outcome: Exclude<Outcome, 'running'>, error?: string): void;
}

export interface JournalEvents {
  /** Of a request that ended. */
  ended(told: DecisionTold, overlapBlocks: number): void;
}

/** What was decided and what came of it: sums, and the latest requests. */
export class Journal {
  readonly #events: JournalEvents;
  readonly #latest: Changing<DecisionTold>[] = [];
  readonly #workers = new Map<string, Changing<WorkerTotals>>();
  readonly #totals: Changing<Totals> = {
    requests: 0,
    finished: 0,
    failed: 0,
    abandoned: 0,
    refused: 0,
    retries: 0,
    promptTokens: 0,
    expectedTokens: 0,
    toldPromptTokens: 0,
    toldCachedTokens: 0,
  };

  constructor(events: JournalEvents) {
    this.#events = events;
  }

  get totals(): Totals {
    return this.#totals;
  }

  /** The latest first. */
  latest(): readonly DecisionTold[] {
    return this.#latest.toReversed();
  }

  worker(name: string): WorkerTotals {
    return this.#workerTotals(name);
  }

  /** A request that no worker was up for. */
  refused(): void {
    this.#totals.refused++;
  }

  /** A request that was routed. */
  begin(
    request: Pick<DecisionTold, 'model' | 'promptTokens'> & { readonly session: string | undefined },
    decision: Decision,
  ): Entry {
    const startedMs = performance.now();
    const elapsedMs = () => performance.now() - startedMs;
    const { session, model, promptTokens } = request;
    const told: Changing<DecisionTold> = {
      ...(session !== undefined && { session }),
      model,
      promptTokens,
      requestId: decision.requestId,
      worker: decision.worker,
      expectedTokens: 0,
      routedAt: Date.now(),
      attempts: 0,
      outcome: 'running',
    };
    let overlapBlocks = 0;
    let there: Changing<WorkerTotals> | undefined;
    this.#latest.push(told);
    if (this.#latest.length > KEPT) this.#latest.shift();
    const totals = this.#totals;
    totals.requests++;
    totals.promptTokens += promptTokens;
    return {
      sent: (to) => {
        if (++told.attempts > 1) totals.retries++;
        totals.expectedTokens += to.cachedTokens - told.expectedTokens;
        told.requestId = to.requestId;
        told.worker = to.worker;
        told.expectedTokens = to.cachedTokens;
        overlapBlocks = to.overlapBlocks;
        if (there) there.running--;
        there = this.#workerTotals(to.worker);
        there.running++;
        there.requests++;
        there.promptTokens += promptTokens;
        there.expectedTokens += to.cachedTokens;
      },
      firstToken() {
        told.firstTokenMs = elapsedMs();
      },
      told(usage) {
        told.cachedTokens = usage.cachedTokens;
        totals.toldPromptTokens += usage.promptTokens;
        totals.toldCachedTokens += usage.cachedTokens;
      },
      ended: (outcome, error) => {
        told.outcome = outcome;
        told.totalMs = elapsedMs();
        if (error !== undefined) told.error = error;
        totals[outcome]++;
        if (there) there.running--;
        this.#events.ended(told, overlapBlocks);
      },
    };
  }

  #workerTotals(name: string): Changing<WorkerTotals> {
    let totals = this.#workers.get(name);
    if (!totals) {
      totals = { running: 0, requests: 0, promptTokens: 0, expectedTokens: 0 };
      this.#workers.set(name, totals);
    }
    return totals;
  }
}
