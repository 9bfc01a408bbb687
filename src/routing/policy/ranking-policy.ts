import { KvidxError } from '../../errors.js';
import type { Candidates } from '../candidates.js';
import { against } from './figures.js';
import type { Counts, Policy, RankedKey, Ranking } from './policy.js';
import type { Key, Rule, RuleSet } from './rule.js';

/**
 * The policy that a rule set describes. Key by key, the candidates that are best so far are narrowed down to those that
 * are best in this key too. Costs a loop over the places for the gate, the first key, and each further key that is needed.
 */
export class RankingPolicy implements Policy {
  readonly spec: string;
  readonly counts: Counts;
  readonly #rules: RuleSet;
  /** Places of the best so far, ascending. */
  #best = new Uint32Array(64);

  constructor(spec: string, rules: RuleSet) {
    this.spec = spec;
    this.counts = rules.counts;
    this.#rules = rules;
  }

  decide(candidates: Candidates): number {
    const tied = this.#findBest(this.#ruleFor(candidates), candidates);
    return this.#best[tied === 1 ? 0 : this.#rules.ties.take(tied)]!;
  }

  explain(candidates: Candidates): Ranking {
    const rule = this.#ruleFor(candidates);
    const { ties } = this.#rules;
    const tied = this.#findBest(rule, candidates);
    const winner = this.#best[tied === 1 ? 0 : ties.peek(tied)]!;
    const keys = readKeys(rule, candidates);
    return {
      winner,
      rule: rule.words,
      candidates: Array.from({ length: candidates.count }, (_, place) => {
        const own = keys[place]!;
        if (place === winner) return { place, keys: own, lost: undefined };
        const { gate } = rule;
        const lost =
          gate && !gate.admits(candidates, place)
            ? gate.refusal(candidates, place)
            : (firstDifference(own, keys[winner]!) ?? `ties with the winner; ${ties.lost}`);
        return { place, keys: own, lost };
      }),
    };
  }

  #ruleFor(candidates: Candidates): Rule {
    if (candidates.count === 0) throw new KvidxError('ERR_KVIDX_NO_WORKERS', 'there are no candidates');
    return this.#rules.ruleFor(candidates);
  }

  /** Leaves the places of the best in `#best`; answers how many. */
  #findBest({ gate, keys }: Rule, candidates: Candidates): number {
    const { count } = candidates;
    if (count > this.#best.length) this.#best = new Uint32Array(2 * count);
    const best = this.#best;
    let tied = 0;
    for (let place = 0; place < count; place++) {
      if (gate === undefined || gate.admits(candidates, place)) best[tied++] = place;
    }
    for (let i = 0; i < keys.length && tied > 1; i++) tied = keepBest(best, tied, keys[i]!, candidates);
    return tied;
  }
}

/** Of the first `tied` places keeps those that are best in the key, in their order; answers how many. */
function keepBest(
  places: Uint32Array,
  tied: number,
  { better, column }: Key,
  candidates: Candidates,
): number {
  const values = column(candidates);
  const sign = better === 'higher' ? 1 : -1;
  let top = 0;
  let kept = 0;
  for (let i = 0; i < tied; i++) {
    const place = places[i]!;
    const value = sign * values[place]!;
    if (kept === 0 || value > top) {
      top = value;
      kept = 0;
    } else if (value !== top) continue;
    places[kept++] = place;
  }
  return kept;
}

/** The keys of each place. */
function readKeys({ keys }: Rule, candidates: Candidates): RankedKey[][] {
  const ofPlaces = Array.from({ length: candidates.count }, (): RankedKey[] => []);
  for (const { name, better, column } of keys) {
    const values = column(candidates);
    for (const [place, own] of ofPlaces.entries()) own.push({ name, value: values[place]!, better });
  }
  return ofPlaces;
}

/** The key that decided, in words; undefined: there is none. */
function firstDifference(keys: readonly RankedKey[], winner: readonly RankedKey[]): string | undefined {
  const i = keys.findIndex(({ value }, k) => value !== winner[k]!.value);
  return i < 0 ? undefined : `${keys[i]!.name} ${against(keys[i]!.value, winner[i]!.value)}`;
}
