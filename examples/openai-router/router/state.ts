/** What `/debug/state` answers and the page shows. Times are in ms, of the clock of the day where they end in `At`. */
export interface StateOfRouter {
  readonly nowAt: number;
  readonly startedAt: number;
  readonly policy: string;
  /** Tokens a block. */
  readonly blockSize: number;
  readonly tokenizer: string;
  readonly models: readonly string[];
  readonly totals: Totals;
  readonly workers: readonly StateOfWorker[];
  /** The latest first, at most 50. */
  readonly decisions: readonly DecisionTold[];
}

export interface Totals {
  /** That were routed. */
  readonly requests: number;
  readonly finished: number;
  /** Answered with an error, or cut off by one. */
  readonly failed: number;
  /** The client hung up. */
  readonly abandoned: number;
  /** Sent to another worker, before anything was answered. */
  readonly retries: number;
  /** That no worker was up for; they were not routed. */
  readonly refused: number;
  /** Of all requests that were routed. */
  readonly promptTokens: number;
  /** Of those the ones that the router expected on the worker. */
  readonly expectedTokens: number;
  /** Prompt tokens of the requests whose worker told what it had cached, and what it had. */
  readonly toldPromptTokens: number;
  readonly toldCachedTokens: number;
}

export interface StateOfWorker {
  readonly name: string;
  readonly url: string;
  readonly status: 'up' | 'down';
  /** Why it is down. */
  readonly reason?: string;
  /** Yet: it failed requests, and gets none meanwhile unless no other worker is left. */
  readonly holdMs?: number;
  /** How the router knows what it holds. */
  readonly residency: 'estimate' | 'exact' | 'sketch';
  /** Under way there. */
  readonly running: number;
  readonly pendingPrefillTokens: number;
  /** That it got, retries included. */
  readonly requests: number;
  readonly promptTokens: number;
  readonly expectedTokens: number;
  /** As the router knows them. Undefined: it was never up. */
  readonly residentBlocks?: number;
  /** Since the worker told last what it holds. Undefined: nothing was told, or the router estimates. */
  readonly residencyAgeMs?: number;
  /** What is wrong with what it tells. */
  readonly degraded?: string;
}

export type Outcome = 'running' | 'finished' | 'failed' | 'abandoned';

export interface DecisionTold {
  readonly requestId: string;
  readonly routedAt: number;
  /** Undefined: the request has none of its own. */
  readonly session?: string;
  readonly model: string;
  readonly worker: string;
  readonly promptTokens: number;
  readonly expectedTokens: number;
  /** As its worker told it. */
  readonly cachedTokens?: number;
  /** 1 and more: how many workers were tried. */
  readonly attempts: number;
  readonly outcome: Outcome;
  /** What went wrong. */
  readonly error?: string;
  readonly firstTokenMs?: number;
  readonly totalMs?: number;
}
