import type { Candidates } from '../candidates.js';
import type { Counts } from './policy.js';
import type { Ties } from './ties.js';

/*
 * A policy is data: which rule holds for a request, what the rule compares, who gets an equal score.
 */

/**
 * One part of a score, as a column: a number for each place. Columns, because a loop over them neither calls anything for
 * a place nor allocates numbers.
 */
export interface Key {
  readonly name: string;
  readonly better: 'higher' | 'lower';
  /** To be read at once: the next call may answer the same array with other values. */
  readonly column: (candidates: Candidates) => Float64Array;
}

/** A key whose values are worked out; `fill` writes one for each place. */
export function computed(
  name: string,
  better: 'higher' | 'lower',
  fill: (candidates: Candidates, values: Float64Array) => void,
): Key {
  let values = new Float64Array(64);
  return {
    name,
    better,
    column(candidates) {
      if (candidates.count > values.length) values = new Float64Array(2 * candidates.count);
      fill(candidates, values);
      return values;
    },
  };
}

/** Keeps some candidates out, but never all of them. */
export interface Gate {
  readonly admits: (candidates: Candidates, place: number) => boolean;
  /** Why it does not admit this place, in words. */
  readonly refusal: (candidates: Candidates, place: number) => string;
}

/** Of the candidates that the gate admits, those that are best in the first key; of them, in the next; and so on. */
export interface Rule {
  /** The rule in words. */
  readonly words: string;
  readonly gate?: Gate;
  readonly keys: readonly Key[];
}

export interface RuleSet {
  readonly counts: Counts;
  readonly ties: Ties;
  /** The rule for this request. */
  readonly ruleFor: (candidates: Candidates) => Rule;
}

/** What policies say that read `cacheHitTokens` or nothing of the cache. */
export const COUNTS_PREFIX: Counts = { overlap: 'prefix', maxOwners: 1 };
