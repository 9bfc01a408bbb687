import type { ApcAnalysis } from '../analysis/apc.js';
import type { ApcRow } from '../analysis/request-log.js';
import type { Decision } from '../routing/types.js';

/** Opens the rows of a trace from the first on. Called once a pass: each must give the same rows. */
export type OpenRows = () => AsyncIterable<ApcRow> | Iterable<ApcRow>;

export interface SimOptions {
  /** Name of the trace, for the result and for errors. */
  readonly trace?: string;
  /** Workers of the fleet, 1 … 1,024, named `w0`, `w1`, … */
  readonly workers: number;
  /** Specs of the policies to compare, such as `kv-aware:overlap=fair:k=200:by=work`. */
  readonly policies: readonly string[];
  /** Tokens a block, 1 … 4,096; checked against the rows. Default: inferred from them. */
  readonly blockSize?: number;
  /** Told of each decision, request by request, and for each of them policy by policy. */
  readonly onDecision?: (policy: string, decision: Decision) => void;
}

/** What one policy made of the trace. The names are those of the JSON output; arrays have a place a worker. */
export interface PolicyResult {
  /** As given. */
  policy: string;
  requests_per_worker: number[];
  /** Σ input_length. */
  tokens_per_worker: number[];
  /** Σ input tokens that were not cached there. */
  new_tokens_per_worker: number[];
  /** Σ min(leading blocks that the chosen worker held × block size, input_length). */
  cached_tokens: number;
  /** cached_tokens ÷ Σ input_length, from 0 to 1. */
  apc: number;
  /** apc ÷ the APC upper bound of any session. null: the bound is 0. */
  share_of_bound: number | null;
  /** Largest ÷ mean of requests_per_worker: 1 is even, `workers` is all on one. */
  balance: number;
}

/** The figures of a simulation, with the names of the JSON output. */
export interface SimResult {
  trace: string;
  /** Tokens a block. */
  block_size: number;
  workers: number;
  /** In the order of the policies given. */
  rows: PolicyResult[];
}

export interface Simulation {
  readonly result: SimResult;
  /** The trace itself, and what no policy can exceed. */
  readonly bound: ApcAnalysis;
}
