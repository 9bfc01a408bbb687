import { NUM_REQUESTS, stayHome } from './keys.js';
import { definePolicy } from './kind.js';
import { COUNTS_PREFIX, type Rule } from './rule.js';
import { FIRST_WINS } from './ties.js';

/** Fewest numRequests on a session's first turn; later turns never move, but from a home that is no candidate. */
export const sticky = definePolicy({
  name: 'sticky',
  summary: 'Fewest requests on the first turn of a session; later turns stay where it was.',
  spreadsBy: 'load',
  options: {},
  make() {
    const keys = [NUM_REQUESTS];
    const stay = stayHome(keys);
    const settle: Rule = { words: 'no worker of its session to stay on: fewest requests', keys };
    return { counts: COUNTS_PREFIX, ties: FIRST_WINS, ruleFor: ({ home }) => (home >= 0 ? stay : settle) };
  },
});
