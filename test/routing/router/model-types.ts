import type { Residency, WorkerStatus } from '../../../src/routing/types.js';

/** One life of a worker. */
export interface Life {
  readonly name: string;
  readonly residency: Residency;
  status: WorkerStatus;
  assigned: number;
  work: number;
  /** Blocks of what ended well there: its estimate holds them. */
  readonly held: Set<bigint>;
  /** Those, and blocks of what was only routed there: its estimate may hold them. */
  readonly told: Set<bigint>;
}

export interface Session {
  readonly name: string | undefined;
  ended: boolean;
  lastMs: number;
  /** Where its dispatched requests went that were not refused, the latest last. */
  visits: { readonly request: Request; readonly life: Life; readonly movedMs: number | undefined }[];
  readonly refusals: Map<Life, { count: number; lastMs: number }>;
}

export interface Request {
  readonly id: string;
  readonly session: Session;
  readonly hashes: BigUint64Array;
  readonly inputLength: number;
  phase: 'routed' | 'prefill' | 'decode';
  life: Life | undefined;
  newTokens: number;
  migrated: boolean;
  readonly refusedBy: Set<Life>;
  lastMs: number;
  waiting: number;
}

export interface Settings {
  readonly maxSessions: number;
  readonly sessionIdleMs: number;
  readonly maxRequests: number;
  readonly requestIdleMs: number;
  readonly rejectTtlMs: number;
}
