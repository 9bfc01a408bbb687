import { definePolicy, MAX_FACTOR } from './kind.js';
import { COUNTS_PREFIX, type Rule } from './rule.js';
import { Draw } from './ties.js';

/** Evenly at random, the same for the same seed. */
export const random = definePolicy({
  name: 'random',
  summary: 'Any worker, drawn evenly.',
  spreadsBy: 'draws',
  options: {
    seed: { kind: 'integer', min: 0, max: MAX_FACTOR, default: 0, help: 'seed of the draws' },
  },
  make({ seed }) {
    const rule: Rule = { words: 'drawn', keys: [] };
    return { counts: COUNTS_PREFIX, ties: new Draw(seed), ruleFor: () => rule };
  },
});
