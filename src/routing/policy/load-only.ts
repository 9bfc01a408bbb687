import { NUM_REQUESTS } from './keys.js';
import { definePolicy } from './kind.js';
import { COUNTS_PREFIX, type Rule } from './rule.js';
import { FIRST_WINS } from './ties.js';

/** Fewest numRequests; the cache counts nothing. */
export const loadOnly = definePolicy({
  name: 'load-only',
  summary: 'Fewest requests waiting or running.',
  spreadsBy: 'load',
  options: {},
  make() {
    const rule: Rule = { words: 'fewest requests', keys: [NUM_REQUESTS] };
    return { counts: COUNTS_PREFIX, ties: FIRST_WINS, ruleFor: () => rule };
  },
});
