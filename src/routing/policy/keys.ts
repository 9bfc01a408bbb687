import type { Candidates } from '../candidates.js';
import type { Key, Rule } from './rule.js';

/*
 * Keys and rules that policies share.
 */

export const NUM_REQUESTS: Key = {
  name: 'numRequests',
  better: 'lower',
  column: ({ numRequests }) => numRequests,
};

/** Tokens that each worker would have to prefill for this request. */
export function newTokens({ count, inputLength, cacheHitTokens }: Candidates, values: Float64Array): void {
  for (let place = 0; place < count; place++) {
    values[place] = Math.max(0, inputLength - cacheHitTokens[place]!);
  }
}

/** Tokens that each worker would have to prefill until this request has its first token. */
export function prefillWork(candidates: Candidates, values: Float64Array): void {
  const { count, pendingPrefillTokens } = candidates;
  newTokens(candidates, values);
  for (let place = 0; place < count; place++) values[place]! += pendingPrefillTokens[place]!;
}

export function sum(column: Float64Array, count: number): number {
  let total = 0;
  for (let place = 0; place < count; place++) total += column[place]!;
  return total;
}

/** The session's home gets the request, which must be a candidate; the keys are there to be read in an explanation. */
export function stayHome(keys: readonly Key[]): Rule {
  return {
    words: "stays on its session's worker",
    gate: {
      admits: ({ home }, place) => place === home,
      refusal: () => 'the session stays on its worker',
    },
    keys,
  };
}
