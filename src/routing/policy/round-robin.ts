import { definePolicy } from './kind.js';
import { COUNTS_PREFIX, type Rule } from './rule.js';
import { Rotation } from './ties.js';

/** One after another. */
export const roundRobin = definePolicy({
  name: 'round-robin',
  summary: 'One worker after another.',
  spreadsBy: 'turns',
  options: {},
  make() {
    const rule: Rule = { words: 'in turn', keys: [] };
    return { counts: COUNTS_PREFIX, ties: new Rotation(), ruleFor: () => rule };
  },
});
