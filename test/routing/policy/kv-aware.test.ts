import { describe, expect, it } from 'vitest';
import { FAIR_UNIT } from '../../../src/index.js';
import type { WorkerFeatures } from '../../../src/routing/candidates.js';
import { createPolicy } from '../../../src/routing/policy/spec.js';
import { decide, explain, valuesOf } from './support.js';

describe('kv-aware: overlap and stickiness', () => {
  it('prefers most overlap', () => {
    expect(decide('kv-aware', [{ counted: 2 }, { counted: 7 }, { counted: 6 }])).toBe(1);
  });

  it('lets the first win a full tie', () => {
    expect(decide('kv-aware', [{}, {}, {}])).toBe(0);
    expect(decide('kv-aware', [{ counted: 1 }, { counted: 4 }, { counted: 4 }])).toBe(1);
  });

  it('lets an overlap of exactly one block tie with stickiness, and then lose to it', () => {
    // ⟨1, 0, …⟩ against ⟨0 + 1, 1, …⟩
    const workers = [{ counted: 1 }, { counted: 0 }];
    expect(valuesOf(explain('kv-aware', workers, { home: 1 }), 'score')).toEqual([1, 1]);
    expect(decide('kv-aware', workers, { home: 1 })).toBe(1);
    // ⟨2, 0, …⟩ against ⟨0 + 1, 1, …⟩
    expect(decide('kv-aware', [{ counted: 2 }, { counted: 0 }], { home: 1 })).toBe(0);
  });

  it('weighs stickiness by alpha', () => {
    const workers = [{ counted: 5 }, { counted: 3 }];
    expect(decide('kv-aware:alpha=1.5', workers, { home: 1 })).toBe(0); // 5 against 4.5
    expect(decide('kv-aware:alpha=2', workers, { home: 1 })).toBe(1); // 5 against 5, home
    // Without a bonus the home still wins equal scores.
    expect(decide('kv-aware:alpha=0', [{ counted: 3 }, { counted: 3 }], { home: 1 })).toBe(1);
  });

  it('breaks ties by inflight, then by assigned', () => {
    expect(
      decide('kv-aware', [
        { inflight: 2, assigned: 0 },
        { inflight: 1, assigned: 9 },
      ]),
    ).toBe(1);
    expect(decide('kv-aware', [{ assigned: 5 }, { assigned: 4 }, { assigned: 4 }])).toBe(1);
  });

  it('prefers the cached worker where the rest is equal, wherever it stands', () => {
    const cached = { overlapBlocks: 3 };
    const others: WorkerFeatures = { inflight: 0, assigned: 7, work: 70 };
    for (let place = 0; place < 4; place++) {
      const workers = Array.from({ length: 4 }, (_, i) => ({ ...others, ...(i === place ? cached : {}) }));
      for (const spec of ['kv-aware', 'kv-aware:overlap=prefix', 'kv-aware:k=200', 'kv-aware:k=200:by=work'])
        expect(decide(spec, workers)).toBe(place);
    }
    // Equal scores of home (4 + 1) and another (5): the home.
    expect(decide('kv-aware', [{ counted: 5 }, { counted: 4, inflight: 9, assigned: 9 }], { home: 1 })).toBe(
      1,
    );
  });
});

describe('kv-aware: refusals', () => {
  it('drops workers that refused the session maxRejects times', () => {
    expect(
      decide('kv-aware', [
        { counted: 9, rejects: 3 },
        { counted: 1, rejects: 2 },
      ]),
    ).toBe(1);
    expect(decide('kv-aware', [{ counted: 9, rejects: 2 }, { counted: 1 }])).toBe(0);
    expect(decide('kv-aware:maxRejects=1', [{ counted: 9, rejects: 1 }, {}], { home: 0 })).toBe(1);
  });

  it('takes the one with fewest refusals when all are dropped, the first of equal ones', () => {
    const workers = [{ rejects: 5, counted: 9 }, { rejects: 3 }, { rejects: 3, counted: 8 }];
    expect(decide('kv-aware', workers)).toBe(1);
    expect(explain('kv-aware', workers).rule).toBe('all refused: fewest refusals');
  });

  it('drops nobody with maxRejects 0', () => {
    expect(decide('kv-aware:maxRejects=0', [{ counted: 9, rejects: 1000 }, { counted: 1 }])).toBe(0);
    expect(decide('kv-aware:maxRejects=0', [{ rejects: 8 }, { rejects: 9, counted: 1 }])).toBe(1);
  });
});

describe('kv-aware: the load floor', () => {
  const scores = (spec: string, workers: WorkerFeatures[], request = {}) =>
    valuesOf(explain(spec, workers, request), 'score');

  it('is ⌊K · max(0, mean − assigned) / mean⌋', () => {
    // mean 4: ⌊10 · 4/4⌋, ⌊10 · 1/4⌋, 0
    expect(scores('kv-aware:k=10', [{ assigned: 0 }, { assigned: 3 }, { assigned: 9 }])).toEqual([10, 2, 0]);
    expect(decide('kv-aware:k=10', [{ assigned: 0 }, { assigned: 3 }, { assigned: 9, counted: 9 }])).toBe(0);
    expect(decide('kv-aware:k=10', [{ assigned: 0 }, { assigned: 3 }, { assigned: 9, counted: 11 }])).toBe(2);
  });

  it('is exact where the mean is no double', () => {
    // mean 1/3: the floor of an empty worker is K itself.
    for (let k = 1; k <= 1000; k++)
      expect(scores(`kv-aware:k=${k}`, [{}, {}, { assigned: 1 }])).toEqual([k, k, 0]);
    // mean 7/3: ⌊3 · (7/3 − 1) / (7/3)⌋ = ⌊12/7⌋
    expect(scores('kv-aware:k=3', [{ assigned: 1 }, { assigned: 1 }, { assigned: 5 }])).toEqual([1, 1, 0]);
  });

  it('is 0 for the home, and where nothing was assigned', () => {
    expect(scores('kv-aware:k=10', [{ assigned: 0 }, { assigned: 8 }], { home: 0 })).toEqual([1, 0]);
    expect(scores('kv-aware:k=10', [{}, { counted: 2 }])).toEqual([0, 2]);
    expect(scores('kv-aware', [{ assigned: 0 }, { assigned: 8 }])).toEqual([0, 0]);
  });

  it('takes the mean of all candidates, those that refused too', () => {
    // mean (0 + 2 + 10) / 3 = 4, not 1: ⌊10 · 2/4⌋ for the second.
    const workers = [{ assigned: 0 }, { assigned: 2 }, { assigned: 10, rejects: 3 }];
    expect(scores('kv-aware:k=10', workers)).toEqual([10, 5, 0]);
  });

  it('reads new tokens with by=work, in any unit, also for the last key', () => {
    const workers = [
      { assigned: 9, work: 100 },
      { assigned: 1, work: 300 },
    ];
    // mean 200: ⌊10 · 100/200⌋
    expect(scores('kv-aware:k=10:by=work', workers)).toEqual([5, 0]);
    expect(decide('kv-aware:k=10:by=work', workers)).toBe(0);
    expect(decide('kv-aware:k=10', workers)).toBe(1);
    const scaled = workers.map(({ work }) => ({ work: work / 1024 }));
    expect(scores('kv-aware:k=10:by=work', scaled)).toEqual([5, 0]);
    expect(decide('kv-aware:by=work', workers)).toBe(0);
    expect(decide('kv-aware', workers)).toBe(1);
  });

  it('pulls a warm short session away, unless it is only for sessions without a worker', () => {
    // The home holds all 8 blocks of the prompt: 8 + 1 against ⌊200 · 10/10⌋.
    const workers = [{ counted: 8, assigned: 20 }, { assigned: 0 }];
    expect(decide('kv-aware:k=200', workers, { home: 0 })).toBe(1);
    expect(decide('kv-aware:k=200:floorScope=session', workers, { home: 0 })).toBe(0);
    expect(decide('kv-aware:k=200:floorScope=session', workers)).toBe(1);
  });

  it('is for no session that has a home elsewhere, with floorScope=session', () => {
    const workers = [{ counted: 8, assigned: 20 }, { assigned: 0 }];
    expect(decide('kv-aware:k=200:floorScope=session', workers, { hasHome: true })).toBe(0);
    expect(decide('kv-aware:k=200', workers, { hasHome: true })).toBe(1);
  });
});

describe('kv-aware: the load floor on the home, too, with floorScope=all', () => {
  const spec = (scope: string) => `kv-aware:overlap=fair:k=200:by=work:floorScope=${scope}`;
  const blocks = (own: number, work: number): WorkerFeatures => ({ counted: own * FAIR_UNIT, work });
  const scores = (scope: string, workers: WorkerFeatures[], request = {}) =>
    valuesOf(explain(spec(scope), workers, request), 'score');

  it('keeps a session on its home, where one overloaded worker raises the mean', () => {
    // mean 300k: floors 0, ⌊200 · 260/300⌋ = 173, ⌊200 · 240/300⌋ = 160; the home has 100 blocks and alpha 1.
    const workers = [blocks(0, 800_000), blocks(100, 40_000), blocks(0, 60_000)];
    expect(scores('worker', workers, { home: 1 })).toEqual([0, 101, 160]);
    expect(decide(spec('worker'), workers, { home: 1 })).toBe(2);
    expect(scores('all', workers, { home: 1 })).toEqual([0, 100 + 1 + 173, 160]);
    expect(decide(spec('all'), workers, { home: 1 })).toBe(1);
  });

  it('lets go of a session whose home is the overloaded one, as the other scopes that reach it', () => {
    // mean 300k: floors 0, 160, 173.
    const workers = [blocks(100, 800_000), blocks(0, 60_000), blocks(0, 40_000)];
    for (const scope of ['worker', 'all']) {
      expect(scores(scope, workers, { home: 0 })).toEqual([101, 160, 173]);
      expect(decide(spec(scope), workers, { home: 0 })).toBe(2);
    }
    expect(decide(spec('session'), workers, { home: 0 })).toBe(0);
  });

  it('moves a session only for a difference in load that is worth more than its own blocks', () => {
    // mean 100: floors ⌊200 · 20/100⌋ = 40 at home, 60 and 100 elsewhere; 59 + 1 + 40 against 100 is a tie.
    const workers = (own: number) => [blocks(own, 80), blocks(0, 70), blocks(0, 50), blocks(0, 200)];
    expect(scores('all', workers(59), { home: 0 })).toEqual([100, 60, 100, 0]);
    expect(decide(spec('all'), workers(59), { home: 0 })).toBe(0);
    expect(decide(spec('all'), workers(58), { home: 0 })).toBe(2);
    expect(decide(spec('worker'), workers(59), { home: 0 })).toBe(2);
  });

  it('is the same as worker for sessions without a home, or with one elsewhere', () => {
    const workers = [blocks(10, 800_000), blocks(100, 40_000), blocks(0, 60_000)];
    for (const request of [{}, { hasHome: true }]) {
      expect(scores('all', workers, request)).toEqual([10, 273, 160]);
      expect(scores('worker', workers, request)).toEqual([10, 273, 160]);
    }
  });

  it('is none where nothing was assigned, and without K', () => {
    expect(scores('all', [blocks(3, 0), blocks(0, 0)], { home: 0 })).toEqual([4, 0]);
    const loaded = [{ assigned: 1 }, { assigned: 7 }];
    expect(valuesOf(explain('kv-aware:floorScope=all', loaded, { home: 0 }), 'score')).toEqual([1, 0]);
  });
});

describe('kv-aware: what it counts', () => {
  it.each([
    ['kv-aware', { overlap: 'set', maxOwners: 1 }],
    ['kv-aware:overlap=prefix', { overlap: 'prefix', maxOwners: 1 }],
    ['kv-aware:overlap=exclusive:m=8', { overlap: 'exclusive', maxOwners: 8 }],
    ['kv-aware:overlap=fair', { overlap: 'fair', maxOwners: 1 }],
  ])('is told by the policy: %s', (spec, counts) => {
    expect(createPolicy(spec).counts).toEqual(counts);
  });

  it('is whole blocks times FAIR_UNIT with fair overlap', () => {
    const units = (blocks: number) => ({ counted: Math.floor(blocks * FAIR_UNIT) });
    const decideFair = (spec: string, ...blocks: number[]) =>
      decide(`kv-aware:overlap=fair${spec}`, blocks.map(units), { home: 0 });
    expect(decideFair('', 1.5, 2)).toBe(0); // 1.5 + 1 against 2
    expect(decideFair('', 1.5, 2.5)).toBe(0); // 2.5 against 2.5: the home
    expect(decideFair('', 1.5, 2.5 + 1 / FAIR_UNIT)).toBe(1); // one unit more
    expect(decideFair(':alpha=0', 1 / 3, 1 / 2)).toBe(1);
  });

  it('adds the floor in blocks with fair overlap', () => {
    // mean 5: 40 blocks against ⌊50 · 4/5⌋, then one unit less.
    const workers = (units: number) => [{ counted: units, assigned: 9 }, { assigned: 1 }];
    const spec = 'kv-aware:overlap=fair:k=50';
    expect(valuesOf(explain(spec, workers(40 * FAIR_UNIT)), 'score')).toEqual([40, 40]);
    expect(decide(spec, workers(40 * FAIR_UNIT + 1))).toBe(0);
    expect(decide(spec, workers(40 * FAIR_UNIT - 1))).toBe(1);
  });
});
