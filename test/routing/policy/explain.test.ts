import { describe, expect, it } from 'vitest';
import { FAIR_UNIT } from '../../../src/index.js';
import { Candidates } from '../../../src/routing/candidates.js';
import { policyKinds } from '../../../src/routing/policy/registry.js';
import { createPolicy } from '../../../src/routing/policy/spec.js';
import { codeOf } from '../../kv-index/support.js';
import { decide, explain, losses } from './support.js';

describe('an explanation', () => {
  it('shows rule, winner, the keys of each place, and why the others lost', () => {
    const workers = [{ pendingPrefillTokens: 12_000 }, { pendingPrefillTokens: 2000 }];
    expect(explain('lpwl', workers)).toEqual({
      winner: 1,
      rule: 'least prefill work left',
      candidates: [
        {
          place: 0,
          keys: [
            { name: 'prefillWork', value: 13_000, better: 'lower' },
            { name: 'numRequests', value: 0, better: 'lower' },
          ],
          lost: 'prefillWork 13,000 against 3,000',
        },
        {
          place: 1,
          keys: [
            { name: 'prefillWork', value: 3000, better: 'lower' },
            { name: 'numRequests', value: 0, better: 'lower' },
          ],
          lost: undefined,
        },
      ],
    });
  });

  it('names the key that decided', () => {
    const workers = [
      { counted: 4, inflight: 1 },
      { counted: 3, inflight: 2 },
      { counted: 4, inflight: 1, assigned: 1200 },
      { counted: 2 },
      { counted: 4, inflight: 3 },
    ];
    expect(losses(explain('kv-aware', workers, { home: 1 }))).toEqual([
      'sticky 0 against 1',
      undefined,
      'sticky 0 against 1',
      'score 2 against 4',
      'sticky 0 against 1',
    ]);
    expect(losses(explain('kv-aware', workers))).toEqual([
      undefined,
      'score 3 against 4',
      'assigned 1,200 against 0',
      'score 2 against 4',
      'inflight 3 against 1',
    ]);
    expect(losses(explain('kv-aware:by=work', [{ work: 1.5 }, { work: 1.25 }]))).toEqual([
      'work 1.5 against 1.25',
      undefined,
    ]);
  });

  it('counts the refusals', () => {
    const workers = [{ counted: 9, rejects: 3 }, { rejects: 2 }];
    expect(losses(explain('kv-aware', workers))).toEqual([
      '3 refusals of this session (maxRejects 3)',
      undefined,
    ]);
    expect(losses(explain('kv-aware:maxRejects=1', [{ rejects: 1 }, {}]))).toEqual([
      '1 refusal of this session (maxRejects 1)',
      undefined,
    ]);
    expect(losses(explain('kv-aware:maxRejects=2', workers))).toEqual(['rejects 3 against 2', undefined]);
  });

  it('says how a tie was broken', () => {
    expect(losses(explain('load-only', [{}, {}]))).toEqual([undefined, 'ties with the winner; first wins']);
    const inTurn = createPolicy('round-robin');
    decide(inTurn, [{}, {}]);
    expect(losses(explain(inTurn, [{}, {}]))).toEqual([
      'ties with the winner; its turn in the rotation comes later',
      undefined,
    ]);
    const drawn = losses(explain('random', [{}, {}]));
    expect(drawn).toContain('ties with the winner; the draw fell on another');
    expect(drawn).toContain(undefined);
  });

  it('says that a session stays', () => {
    const ranking = explain('sticky', [{}, { numRequests: 5 }], { home: 1 });
    expect(ranking.rule).toBe("stays on its session's worker");
    expect(losses(ranking)).toEqual(['the session stays on its worker', undefined]);
  });

  it('shows digits enough to tell two numbers apart', () => {
    const fair = (units: number) => ({ counted: units });
    expect(losses(explain('kv-aware:overlap=fair', [fair(3 * FAIR_UNIT), fair(3 * FAIR_UNIT + 1)]))).toEqual([
      'score 3 against 3.0000009536743164',
      undefined,
    ]);
    expect(losses(explain('kv-aware:overlap=fair', [fair(FAIR_UNIT / 3), fair(FAIR_UNIT)]))).toEqual([
      'score 0.333 against 1',
      undefined,
    ]);
  });
});

describe.each(policyKinds.map(({ name }) => name))('%s', (name) => {
  it('decides and explains one candidate and a thousand', () => {
    for (const count of [1, 63, 64, 65, 1000, 2]) {
      const policy = createPolicy(name);
      const workers = Array.from({ length: count }, (_, place) => ({ numRequests: count - place }));
      const { winner, candidates } = explain(policy, workers);
      expect(decide(policy, workers)).toBe(winner);
      expect(candidates.map(({ place }) => place)).toEqual(workers.map((_, place) => place));
      expect(candidates.filter(({ lost }) => lost === undefined).map(({ place }) => place)).toEqual([winner]);
    }
  });

  it('needs a candidate', () => {
    const policy = createPolicy(name);
    expect(codeOf(() => policy.decide(new Candidates(4)))).toBe('ERR_KVIDX_NO_WORKERS');
    expect(codeOf(() => policy.explain(new Candidates(0)))).toBe('ERR_KVIDX_NO_WORKERS');
  });

  it('looks at the places in use only', () => {
    const candidates = new Candidates(100);
    candidates.count = 2;
    candidates.counted.fill(9, 2);
    candidates.numRequests.fill(1, 0, 2);
    expect(createPolicy(name).explain(candidates).candidates).toHaveLength(2);
    expect(createPolicy(name).decide(candidates)).toBeLessThan(2);
  });

  it('copes with the largest numbers that a feature may be', () => {
    const large = Number.MAX_SAFE_INTEGER;
    const worker = { overlapBlocks: large, inflight: large, assigned: large, work: large };
    const loaded = { ...worker, pendingPrefillTokens: large, numRequests: large, ongoingDecodeTokens: large };
    const specs = policyKinds
      .find((kind) => kind.name === name)!
      .options.map((option) => (option.kind === 'choice' ? '' : `:${option.name}=${option.max}`));
    for (const spec of [name, ...specs.map((option) => name + option)]) {
      const request = { inputLength: large };
      for (const { keys } of explain(spec, [loaded, {}, loaded], request).candidates)
        for (const { value } of keys) expect(value).toBeGreaterThanOrEqual(0);
      const values = explain(spec, [loaded, {}, loaded], request).candidates.flatMap(({ keys }) => keys);
      for (const { value } of values) expect(Number.isFinite(value)).toBe(true);
    }
  });
});
