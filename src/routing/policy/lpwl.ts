import { NUM_REQUESTS, prefillWork } from './keys.js';
import { definePolicy } from './kind.js';
import { COUNTS_PREFIX, computed, type Rule } from './rule.js';
import { Rotation } from './ties.js';

/** Least Prefill Work Left: pendingPrefillTokens + newTokens; ties: fewest numRequests, then in turn. */
export const lpwl = definePolicy({
  name: 'lpwl',
  summary: 'Least prefill work left: tokens waiting for their prefill, with those of this request.',
  spreadsBy: 'load',
  options: {},
  make() {
    const rule: Rule = {
      words: 'least prefill work left',
      keys: [computed('prefillWork', 'lower', prefillWork), NUM_REQUESTS],
    };
    return { counts: COUNTS_PREFIX, ties: new Rotation(), ruleFor: () => rule };
  },
});
