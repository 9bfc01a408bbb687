import { describe, expect, it } from 'vitest';
import { FAIR_UNIT } from '../../../src/index.js';
import { type Candidates, candidatesFrom, FEATURES } from '../../../src/routing/candidates.js';
import type { PolicyKind } from '../../../src/routing/policy/kind.js';
import type { Policy, RankedCandidate, Ranking } from '../../../src/routing/policy/policy.js';
import { policyKinds } from '../../../src/routing/policy/registry.js';
import { createPolicy, type PolicySpec } from '../../../src/routing/policy/spec.js';
import { Random, seedOfRun } from '../../property/random.js';
import { FORMULAS } from './formulas.js';

const FIRST_WINS = ['kv-aware', 'lmetric', 'load-only', 'sticky'];

type Values = Record<string, number | string>;

/** Options as they are likely to matter, often the defaults. */
function randomOptions(kind: PolicyKind, random: Random): Values {
  return Object.fromEntries(
    kind.options.map((option) => {
      if (random.oneIn(3)) return [option.name, option.default];
      if (option.kind === 'choice') return [option.name, random.oneOf(option.choices)];
      const values = option.kind === 'integer' ? [0, 1, 2, 3, 8] : [0, 0.25, 0.5, 1, 2, 10, 200];
      const legal = values.filter((value) => value >= option.min && value <= option.max);
      /* The twin knows whole floors only. */
      return [
        option.name,
        random.oneOf(option.name === 'loadFloor' ? legal.filter(Number.isInteger) : legal),
      ];
    }),
  );
}

/** Small numbers, so that ties, refusals and boundaries are common. */
function randomCandidates(random: Random, fair: boolean): Candidates {
  const count = random.oneIn(20) ? random.between(60, 70) : random.between(1, 6);
  const most = random.oneOf([0, 1, 3, 10, 1000]);
  const workers = Array.from({ length: count }, () =>
    Object.fromEntries(FEATURES.map((feature) => [feature, random.between(0, most)])),
  );
  for (const worker of workers) {
    if (fair) worker.counted = random.below(4) * FAIR_UNIT + random.oneOf([0, 0, FAIR_UNIT / 2, 349_525]);
    if (random.oneIn(2)) worker.rejects = random.below(5);
  }
  const home = random.oneIn(2) ? { home: random.below(count) } : { hasHome: random.oneIn(3) };
  return candidatesFrom(workers, { inputLength: random.oneOf([0, 1, 6, 20, 1500]), ...home });
}

/** −1, 0, 1: a is better, equal, worse. */
function compare(a: RankedCandidate, b: RankedCandidate): number {
  for (const [i, { value, better }] of a.keys.entries()) {
    const other = b.keys[i]!.value;
    if (value !== other) return value > other === (better === 'higher') ? -1 : 1;
  }
  return 0;
}

/** Losers that are better than the winner, or lost for another reason than they are told. */
function unsound({ winner, candidates }: Ranking): RankedCandidate[] {
  return candidates.filter((candidate) => {
    const { place, lost } = candidate;
    if (place === winner || lost === undefined) return place !== winner || lost !== undefined;
    if (/refusals? of this session|stays on its worker/.test(lost)) return false;
    const order = compare(candidate, candidates[winner]!);
    return order < 0 || lost.startsWith('ties with the winner; ') !== (order === 0);
  });
}

describe.each(policyKinds)('$name on random candidates', (kind) => {
  const formula = FORMULAS[kind.name]!;

  it('decides as its formula says and as its explanation foretells, which changes nothing', () => {
    const seed = seedOfRun(kind.name);
    const random = new Random(seed);
    for (let round = 0; round < 40; round++) {
      const options = randomOptions(kind, random);
      const spec = { name: kind.name, ...options } as PolicySpec;
      const explained = createPolicy(spec);
      const untouched = createPolicy(spec);
      let ties = 0;
      for (let i = 0; i < 25; i++) {
        const candidates = randomCandidates(random, options.overlap === 'fair');
        const what = `KVIDX_SEED=${seed}, round ${round}, decision ${i}, ${explained.spec}`;
        const before = structuredClone({ ...candidates });

        const rankings = askOften(explained, candidates, random);
        const winner = explained.decide(candidates);
        for (const ranking of rankings) expect(ranking.winner, what).toBe(winner);
        expect(untouched.decide(candidates), what).toBe(winner);
        expect({ ...candidates }, what).toEqual(before);
        expect(unsound(rankings[0]!), what).toEqual([]);

        const best = formula(candidates, options);
        expect(best, what).toContain(winner);
        if (FIRST_WINS.includes(kind.name)) expect(winner, what).toBe(best[0]);
        else if (kind.name !== 'random') expect(winner, what).toBe(best[ties % best.length]);
        if (best.length > 1) ties += 1;
      }
    }
  });
});

function askOften(policy: Policy, candidates: Candidates, random: Random): Ranking[] {
  return Array.from({ length: random.between(1, 3) }, () => policy.explain(candidates));
}
