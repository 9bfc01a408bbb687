import { prefillWork } from './keys.js';
import { definePolicy } from './kind.js';
import { COUNTS_PREFIX, computed, type Key, type Rule } from './rule.js';
import { FIRST_WINS } from './ties.js';

/** A key of its own for each policy. */
export function lmetricKey(): Key {
  return computed('lmetric', 'lower', (candidates, values) => {
    const { count, numRequests } = candidates;
    prefillWork(candidates, values);
    for (let place = 0; place < count; place++) values[place]! *= numRequests[place]!;
  });
}

/**
 * (pendingPrefillTokens + newTokens) × numRequests. The multiplied load swallows the cache: among idle workers, where it
 * is 0, the cached one is not preferred.
 */
export const lmetric = definePolicy({
  name: 'lmetric',
  summary: 'Least product of prefill work left and requests waiting or running.',
  spreadsBy: 'load',
  options: {},
  make() {
    const rule: Rule = { words: 'lowest lmetric', keys: [lmetricKey()] };
    return { counts: COUNTS_PREFIX, ties: FIRST_WINS, ruleFor: () => rule };
  },
});
