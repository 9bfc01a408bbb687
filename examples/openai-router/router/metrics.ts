import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { JournalEvents } from './journal.js';
import type { StateOfRouter, StateOfWorker, Totals } from './state.js';

/** Blocks, tokens: each bucket twice as wide as the one before. */
const doubling = (first: number, buckets: number) =>
  Array.from({ length: buckets }, (_, i) => first * 2 ** i);
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

const TOTALS: Record<keyof Totals, readonly [name: string, help: string]> = {
  requests: ['decisions_total', 'Requests that were routed'],
  finished: ['finished_total', 'Requests that were answered to their end'],
  failed: ['failed_total', 'Requests that were answered with an error, or cut off by one'],
  abandoned: ['abandoned_total', 'Requests whose client hung up'],
  refused: ['refused_total', 'Requests that no worker was up for'],
  retries: ['retries_total', 'Attempts at another worker, before anything was answered'],
  promptTokens: ['prompt_tokens_total', 'Prompt tokens of the requests that were routed'],
  expectedTokens: [
    'expected_hit_tokens_total',
    'Prompt tokens that the router expected in the cache of the worker',
  ],
  toldPromptTokens: [
    'told_prompt_tokens_total',
    'Prompt tokens of requests whose worker told what it had cached',
  ],
  toldCachedTokens: ['hit_tokens_total', 'Prompt tokens that were cached, as workers told'],
};

/** Of a worker; where it is undefined there is no sample. */
type Of = (worker: StateOfWorker) => number | undefined;

const WORKER_TOTALS: Record<string, readonly [help: string, of: Of]> = {
  worker_requests_total: ['Requests that were sent to the worker', ({ requests }) => requests],
  worker_prompt_tokens_total: ['Their prompt tokens', ({ promptTokens }) => promptTokens],
  worker_expected_hit_tokens_total: [
    'Of these, tokens that the router expected in its cache',
    ({ expectedTokens }) => expectedTokens,
  ],
};

const WORKER_GAUGES: typeof WORKER_TOTALS = {
  worker_up: ['1: it takes requests', ({ status }) => Number(status === 'up')],
  worker_on_hold: [
    '1: it failed requests, and gets none for a while',
    ({ holdMs }) => Number(holdMs !== undefined),
  ],
  worker_running: ['Requests under way', ({ running }) => running],
  worker_pending_prefill_tokens: [
    'Prompt tokens to compute yet',
    ({ pendingPrefillTokens }) => pendingPrefillTokens,
  ],
  worker_resident_blocks: [
    'Blocks that it holds, as the router knows',
    ({ residentBlocks }) => residentBlocks,
  ],
  worker_residency_age_seconds: [
    'Since it told last what it holds; absent where nothing tells',
    ({ residencyAgeMs }) => residencyAgeMs && residencyAgeMs / 1000,
  ],
  worker_residency_degraded: [
    '1: what it tells may be wrong',
    ({ degraded }) => Number(degraded !== undefined),
  ],
};

type Sample = readonly [labels: Record<string, string>, value: number | undefined];

const PREFIX = 'kvidx_router_';

/** What Prometheus gets: sums and states as they are when it asks, and distributions. */
export class Metrics implements JournalEvents {
  readonly #registry = new Registry();
  readonly #overlap = this.#histogram(
    'overlap_blocks',
    'Leading blocks that the router expected there',
    doubling(1, 14),
  );
  readonly #firstToken = this.#histogram('first_token_seconds', 'From arrival to the first token', SECONDS);
  readonly #duration = this.#histogram('request_seconds', 'From arrival to the end', SECONDS);

  readonly #read: () => StateOfRouter;
  #state: StateOfRouter | undefined;

  constructor(read: () => StateOfRouter) {
    this.#read = read;
    collectDefaultMetrics({ register: this.#registry });
    for (const [key, [name, help]] of Object.entries(TOTALS)) {
      this.#show(Counter, name, help, [], ({ totals }) => [[{}, totals[key as keyof Totals]]]);
    }
    const byWorker = (of: Of) => (state: StateOfRouter) =>
      state.workers.map((worker): Sample => [{ worker: worker.name }, of(worker)]);
    for (const [name, [help, of]] of Object.entries(WORKER_TOTALS))
      this.#show(Counter, name, help, ['worker'], byWorker(of));
    for (const [name, [help, of]] of Object.entries(WORKER_GAUGES))
      this.#show(Gauge, name, help, ['worker'], byWorker(of));
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All of one state: what is shown together belongs together. */
  text(): Promise<string> {
    this.#state = this.#read();
    return this.#registry.metrics();
  }

  ended(
    { worker, outcome, firstTokenMs, totalMs }: Parameters<JournalEvents['ended']>[0],
    overlapBlocks: number,
  ) {
    this.#overlap.observe({ worker, outcome }, overlapBlocks);
    if (firstTokenMs !== undefined) this.#firstToken.observe({ worker, outcome }, firstTokenMs / 1000);
    this.#duration.observe({ worker, outcome }, totalMs! / 1000);
  }

  /** What the state has when it is asked for. */
  #show(
    Metric: typeof Counter | typeof Gauge,
    name: string,
    help: string,
    labelNames: string[],
    samplesOf: (state: StateOfRouter) => readonly Sample[],
  ): void {
    const metric: Counter | Gauge = new Metric({
      name: PREFIX + name,
      help,
      labelNames,
      registers: [this.#registry],
      collect: () => {
        metric.reset();
        for (const [labels, value] of samplesOf(this.#state!)) {
          if (value !== undefined) metric.inc(labels, value); // from 0: a counter cannot be set
        }
      },
    });
  }

  #histogram(name: string, help: string, buckets: number[]) {
    return new Histogram({
      name: PREFIX + name,
      help,
      buckets,
      labelNames: ['worker', 'outcome'],
      registers: [this.#registry],
    });
  }
}
