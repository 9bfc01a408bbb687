import type { AdmitReason, AdmittedAnswer, RefusedAnswer } from '../admit.js';
import type {
  AdmittedAs,
  Decision,
  DispatchedOptions,
  RerouteOptions,
  RouteRequest,
  SessionSketchTold,
  WorkerStatus,
} from '../types.js';
import type { BackoffOptions } from './backoff.js';
import type { Clock } from './clock.js';

/** What a dispatcher needs of a router; `Router` has it. */
export interface DispatchRouter {
  route(request: RouteRequest): Decision;
  reroute(requestId: string, options?: RerouteOptions): Decision | undefined;
  assign(requestId: string, worker: string): Decision;
  onDispatch(requestId: string, options?: DispatchedOptions): boolean;
  onReject(requestId: string): boolean;
  onError(requestId: string): boolean;
  whenPrefilled(requestId: string, callback: () => void): void;
  /** Needed where `sketches` are asked for. */
  onSessionSketch?(requestId: string, frame: Uint8Array, options?: SessionSketchTold): void;
  workers(): readonly { readonly name: string; readonly status: WorkerStatus }[];
}

/** What a worker is asked. */
export interface AdmissionRequest {
  readonly requestId: string;
  readonly session: string | undefined;
  /** Tokens of the prompt. */
  readonly inputLength: number;
  /** Of those, what the router thinks must be prefilled. */
  readonly newTokens: number;
  readonly firstTurn: boolean;
  /** This worker's own copy of the request's, if it has them: `BigUint64Array[⌊inputLength / blockSize⌋]`. */
  readonly seqHashes?: BigUint64Array;
  /** The answer is to have the session's `sketch`, whatever else it says. Never without a session. */
  readonly wantsSketch: boolean;
  /** Aborted when the answer would come too late. */
  readonly signal: AbortSignal;
}

/**
 * What is read of a worker's answer; an `AdmitAnswer` has it. A pause that is not finite, 0 or more, is none; so are
 * resident tokens, which go with the sketch, that are no whole number. A sketch that does not fit is counted, and nothing else.
 */
export type AdmissionReply =
  | (Pick<AdmittedAnswer, 'admitted' | 'as' | 'sketch'> & Partial<Pick<AdmittedAnswer, 'residentTokens'>>)
  | (Pick<RefusedAnswer, 'admitted' | 'reason' | 'recommendedPauseMs' | 'sketch'> &
      Partial<Pick<RefusedAnswer, 'residentTokens'>>);

export interface DispatcherOptions {
  /** Asks a worker; what it throws, or answers that is no `AdmissionReply`, is a refusal. */
  readonly admit: (worker: string, request: AdmissionRequest) => AdmissionReply | Promise<AdmissionReply>;
  /**
   * Told of a request that a worker admitted and does not get after all, so that it gives up what it reserved. Not
   * waited for. It may overtake, or be overtaken by, a later fallback of the same request to the same worker.
   */
  readonly release?: (worker: string, requestId: string) => void | Promise<void>;
  /** How long a worker may take to answer, in ms. Default 1,000. */
  readonly admitTimeoutMs?: number;
  /** Pauses between a refusal and the next worker. */
  readonly backoff?: BackoffOptions;
  /** Cap of the pauses that workers recommend, in ms. Default 2,000. */
  readonly maxPauseMs?: number;
  /** Seeds and reseeds under way on one worker, 1 or more. Default 4. */
  readonly maxPendingSeeds?: number;
  /** Seeds waiting for one worker, in order; beyond it the next worker is asked. Default 64. */
  readonly maxQueuedSeeds?: number;
  /** How long a seed may wait for its turn, in ms. Default 10,000. */
  readonly seedDeadlineMs?: number;
  /** After so long a seed no longer counts, even if its prefill was never said to be over, in ms. Default 120,000. */
  readonly seedLeaseMs?: number;
  /** Ask workers what they hold of the session, and mend their estimates by it. Default false. */
  readonly sketches?: boolean;
  /** Prefill workers, given in turn to what is not direct. Default: none. */
  readonly prefillWorkers?: readonly string[];
  /** Of the jitter, 0 … 2^32 − 1. Default: a random one. */
  readonly seed?: number;
  /** Default: the system's. */
  readonly clock?: Clock;
}

export interface DispatchRequest extends RouteRequest {
  /** Gives the request up while it is not dispatched. */
  readonly signal?: AbortSignal;
}

/** Why a worker did not get a request. */
export type RefusalKind =
  | AdmitReason
  /** The admit call threw or rejected. */
  | 'error'
  /** No answer in time. */
  | 'timeout'
  /** The answer was none: the attempt's `error` names the field that is wrong. */
  | 'nonsense'
  /** Admitted, but its turn to seed did not come: the queue was full, or the deadline passed. */
  | 'seed-budget'
  /** Admitted, but the router no longer lets the request go there. */
  | 'gone';

export interface Attempt {
  readonly worker: string;
  readonly outcome: AdmittedAnswer['as'] | RefusalKind;
  /** Pause after it. */
  readonly pausedMs: number;
  /**
   * What the admit call threw, with outcome `error`. What is wrong with its answer, with `nonsense`:
   * ERR_KVIDX_INVALID_ARG_TYPE, ERR_KVIDX_OUT_OF_RANGE, or what a getter of it threw.
   */
  readonly error?: unknown;
}

export interface Dispatched {
  readonly requestId: string;
  readonly worker: string;
  readonly as: AdmittedAs;
  /** Who prefills, where prefill workers are configured and it is not direct. */
  readonly prefillWorker?: string;
  readonly decision: Decision;
  /** One for each worker that was asked, in order; a fallback asks nobody. */
  readonly attempts: readonly Attempt[];
}

export interface SeedCounts {
  readonly worker: string;
  /** Under way. */
  readonly pending: number;
  /** Waiting for their turn. */
  readonly queued: number;
}

export interface DispatcherStats {
  /** Dispatches under way. */
  readonly pending: number;
  readonly dispatched: Readonly<Record<AdmittedAs, number>>;
  readonly refused: Readonly<Record<RefusalKind, number>>;
  /** Given up by the caller's signal. */
  readonly aborted: number;
  /** Ended with any other error after they were routed. */
  readonly failed: number;
  /** Sketches in answers that were damaged, or not of this session, worker and block size. */
  readonly badSketches: number;
  /** Answers that came when nobody waited for them any more. */
  readonly lateAnswers: number;
  /** Calls of `release`, and those of them that failed. */
  readonly releases: number;
  readonly releaseErrors: number;
  /** Workers with seeds under way or waiting. */
  readonly seeds: readonly SeedCounts[];
}
