import type { Candidates } from '../candidates.js';

/** Which blocks of a prompt a policy counts on a worker. */
export interface Counts {
  /**
   * `prefix`: leading blocks. `set`: any. `exclusive`: leading ones with 1 … `maxOwners` owners (with 1: this session).
   * `fair`: leading ones, each worth 1 / (number of its owners).
   */
  readonly overlap: 'prefix' | 'set' | 'exclusive' | 'fair';
  readonly maxOwners: number;
}

/** One part of a score: candidates are compared by the first, equal ones by the next. */
export interface RankedKey {
  readonly name: string;
  readonly value: number;
  readonly better: 'higher' | 'lower';
}

export interface RankedCandidate {
  /** Its place among the candidates. */
  readonly place: number;
  readonly keys: readonly RankedKey[];
  /** Why it was not chosen, in words; undefined for the winner. */
  readonly lost: string | undefined;
}

export interface Ranking {
  readonly winner: number;
  /** What was applied, in words: `highest score`, `stays on its session's worker`, `all refused: fewest refusals`. */
  readonly rule: string;
  /** By place. */
  readonly candidates: readonly RankedCandidate[];
}

/**
 * Who gets a request. Made by `createPolicy`; may keep counters for ties, so that one policy serves one router.
 */
export interface Policy {
  /** Its name and options, as given or in the form `name:key=value`. */
  readonly spec: string;
  /** What `counted` of the candidates must hold. */
  readonly counts: Counts;
  /** The winner's place. Allocates nothing. ERR_KVIDX_NO_WORKERS: there are no candidates. */
  decide(candidates: Candidates): number;
  /** What `decide` would answer now, and why; changes nothing. */
  explain(candidates: Candidates): Ranking;
}
