import type { Candidates } from '../candidates.js';
import { NUM_REQUESTS, newTokens, stayHome, sum } from './keys.js';
import { definePolicy, MAX_FACTOR } from './kind.js';
import { lmetricKey } from './lmetric.js';
import { COUNTS_PREFIX, computed, type Rule } from './rule.js';
import { Rotation } from './ties.js';

/**
 * Stays on the session's home if cacheHitTokens / max(inputLength, 1) > `hitShare` and numRequests ≤ `loadFactor` ×
 * max(mean numRequests, 1) there; else lowest ⟨lmetric, newTokens, numRequests⟩, exact ties in turn. The mean is that of all
 * candidates.
 */
export const unified = definePolicy({
  name: 'unified',
  summary:
    "Stays on the session's worker while that holds much of the prompt and is not overloaded; else lmetric.",
  spreadsBy: 'load',
  options: {
    hitShare: {
      kind: 'number',
      min: 0,
      max: 1,
      default: 0.5,
      help: 'share of the prompt above which a session stays where it is cached',
    },
    loadFactor: {
      kind: 'number',
      min: 0,
      max: MAX_FACTOR,
      default: 2,
      help: 'times the mean of requests (at least 1) up to which a session stays',
    },
  },
  make({ hitShare, loadFactor }) {
    const keys = [lmetricKey(), computed('newTokens', 'lower', newTokens), NUM_REQUESTS];
    const stay = stayHome(keys);
    const move: Rule = { words: 'lowest lmetric, then fewest new tokens', keys };

    function stays({ count, home, inputLength, cacheHitTokens, numRequests }: Candidates): boolean {
      if (home < 0) return false;
      if (!(cacheHitTokens[home]! / Math.max(inputLength, 1) > hitShare)) return false;
      /* Both sides times count: a mean need not be a double, and exactly `loadFactor` times the mean stays. */
      return numRequests[home]! * count <= loadFactor * Math.max(sum(numRequests, count), count);
    }

    return {
      counts: COUNTS_PREFIX,
      ties: new Rotation(),
      ruleFor: (candidates) => (stays(candidates) ? stay : move),
    };
  },
});
