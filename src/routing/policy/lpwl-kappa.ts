import { NUM_REQUESTS, prefillWork } from './keys.js';
import { definePolicy } from './kind.js';
import { COUNTS_PREFIX, computed, type Rule } from './rule.js';
import { Rotation } from './ties.js';

/**
 * (pendingPrefillTokens + newTokens) × (1 + κ · ongoingDecodeTokens); ties as `lpwl`. Decode load is the wrong lever for
 * agentic traffic: it does worse than `lpwl`, and is here to show that.
 */
export const lpwlKappa = definePolicy({
  name: 'lpwl-kappa',
  summary:
    'As lpwl, the work weighted by the tokens that are being decoded; does worse, kept for comparison.',
  spreadsBy: 'load',
  options: {
    kappa: { kind: 'number', min: 0, max: 1, default: 2.5e-6, help: 'weight of one token being decoded' },
  },
  make({ kappa }) {
    const rule: Rule = {
      words: 'least weighted prefill work left',
      keys: [
        computed('weightedPrefillWork', 'lower', (candidates, values) => {
          const { count, ongoingDecodeTokens } = candidates;
          prefillWork(candidates, values);
          for (let place = 0; place < count; place++)
            values[place]! *= 1 + kappa * ongoingDecodeTokens[place]!;
        }),
        NUM_REQUESTS,
      ],
    };
    return { counts: COUNTS_PREFIX, ties: new Rotation(), ruleFor: () => rule };
  },
});
