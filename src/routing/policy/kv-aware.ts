import { FAIR_UNIT } from '../../kv-index/types.js';
import { counted } from '../../text.js';
import type { Candidates } from '../candidates.js';
import { sum } from './keys.js';
import { definePolicy, MAX_FACTOR } from './kind.js';
import { computed, type Key, type Rule } from './rule.js';
import { FIRST_WINS } from './ties.js';

/**
 * Score ⟨overlap + α·sticky + floor, sticky, −inflight, −load⟩, highest first, among the workers that refused the session
 * fewer than `maxRejects` times; load is `assigned` or `work`. floor = 0 on the session's home (unless `floorScope` is `all`)
 * or where the mean is 0, else ⌊K · max(0, mean − load) / mean⌋, the mean being that of all candidates.
 *
 * - With `floorScope` `worker` one overloaded worker, which raises the mean, pulls sessions with less than about K blocks of
 *   their own off their homes on every turn, also to workers with more load than the home. With `all` the home has a floor,
 *   too, so that only differences in load count.
 * - With α = 1 an overlap of exactly one block ties with stickiness and then loses to it.
 * - Of equal scores the cached worker is preferred: with equal load, overlap is part of the score; and where more overlap
 *   elsewhere makes up for stickiness, the second key prefers the home, which holds the session's own blocks. Only a floor
 *   can outweigh cached blocks: that is what it is for.
 */
export const kvAware = definePolicy({
  name: 'kv-aware',
  summary:
    "Most overlap, with a bonus for the session's worker and, on request, a floor for workers with little load.",
  spreadsBy: 'overlap',
  options: {
    overlap: {
      kind: 'choice',
      choices: ['set', 'prefix', 'exclusive', 'fair'],
      default: 'set',
      help: 'blocks that count: any, leading ones, leading ones with few owners, or leading ones divided by their owners',
    },
    maxOwners: {
      alias: 'm',
      kind: 'integer',
      min: 1,
      max: MAX_FACTOR,
      default: 1,
      help: 'owners that a block may have to count as exclusive',
    },
    alpha: {
      kind: 'number',
      min: 0,
      max: MAX_FACTOR,
      default: 1,
      help: "blocks that the session's worker counts more",
    },
    loadFloor: {
      alias: 'k',
      kind: 'number',
      min: 0,
      max: MAX_FACTOR,
      default: 0,
      help: 'blocks that a worker without load counts more; 0: none',
    },
    by: {
      kind: 'choice',
      choices: ['assigned', 'work'],
      default: 'assigned',
      help: 'load: requests assigned, or new tokens assigned',
    },
    floorScope: {
      kind: 'choice',
      choices: ['worker', 'session', 'all'],
      default: 'worker',
      help: "worker: no floor on the session's own worker; session: none for sessions that have one; all: on every worker, so that only differences in load count",
    },
    maxRejects: {
      kind: 'integer',
      min: 0,
      max: MAX_FACTOR,
      default: 3,
      help: 'refusals of a session that close a worker to it; 0: none do',
    },
  },
  make({ overlap, maxOwners, alpha, loadFloor, by, floorScope, maxRejects }) {
    /* In blocks. Powers of two scale exactly: the order is that of units of 1 / FAIR_UNIT block. */
    const unit = overlap === 'fair' ? 1 / FAIR_UNIT : 1;

    function score(candidates: Candidates, values: Float64Array): void {
      const { count, counted, home, hasHome } = candidates;
      const load = candidates[by];
      const floored = loadFloor > 0 && (floorScope !== 'session' || !hasHome);
      const total = floored ? sum(load, count) : 0;
      for (let place = 0; place < count; place++) {
        let bonus = place === home ? alpha : 0;
        if (place !== home || floorScope === 'all') bonus += floor(load[place]!, total, count);
        values[place] = counted[place]! * unit + bonus;
      }
    }

    /**
     * As mean = total / count, this is ⌊K · max(0, mean − load) / mean⌋, and never off by one: whole numbers stay whole up to
     * the one division. The unit of load does not matter.
     */
    function floor(load: number, total: number, count: number): number {
      return total === 0 ? 0 : Math.floor((loadFloor * Math.max(0, total - count * load)) / total);
    }

    const keys: readonly Key[] = [
      computed('score', 'higher', score),
      computed('sticky', 'higher', ({ count, home }, values) => {
        values.fill(0, 0, count);
        if (home >= 0) values[home] = 1;
      }),
      { name: 'inflight', better: 'lower', column: ({ inflight }) => inflight },
      { name: by, better: 'lower', column: (candidates) => candidates[by] },
    ];
    const highestScore: Rule = { words: 'highest score', keys };
    const highestOfOpen: Rule = {
      ...highestScore,
      gate: {
        admits: ({ rejects }, place) => rejects[place]! < maxRejects,
        refusal: ({ rejects }, place) =>
          `${counted(rejects[place]!, 'refusal')} of this session (maxRejects ${maxRejects})`,
      },
    };
    const fewestRefusals: Rule = {
      words: 'all refused: fewest refusals',
      keys: [{ name: 'rejects', better: 'lower', column: ({ rejects }) => rejects }],
    };

    return {
      counts: { overlap, maxOwners },
      ties: FIRST_WINS,
      ruleFor(candidates) {
        if (maxRejects === 0) return highestScore;
        return someBelow(maxRejects, candidates.rejects, candidates.count) ? highestOfOpen : fewestRefusals;
      },
    };
  },
});

function someBelow(bound: number, column: Float64Array, count: number): boolean {
  for (let place = 0; place < count; place++) if (column[place]! < bound) return true;
  return false;
}
