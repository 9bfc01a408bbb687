import { describe, expect, it } from 'vitest';
import type { PolicyOption } from '../../../src/routing/policy/kind.js';
import { policyKinds } from '../../../src/routing/policy/registry.js';
import { createPolicy, type PolicySpec } from '../../../src/routing/policy/spec.js';
import { explain, valuesOf } from './support.js';

const TYPE = 'ERR_KVIDX_INVALID_ARG_TYPE';
const RANGE = 'ERR_KVIDX_OUT_OF_RANGE';

function errorOf(spec: unknown): { code: unknown; message: string } {
  try {
    createPolicy(spec as string);
  } catch (error) {
    const { code, message } = error as Error & { code: unknown };
    expect(error).toBeInstanceOf(code === TYPE ? TypeError : RangeError);
    return { code, message };
  }
  throw new Error('nothing thrown');
}

describe('a good spec', () => {
  it.each([
    'kv-aware',
    'kv-aware:overlap=fair:k=200:by=work',
    'kv-aware:by=work:overlap=fair:loadFloor=200.0',
    'kv-aware:overlap=fair:k=200:by=work:floorScope=all',
    'kv-aware:alpha=.5:maxRejects=0:floorScope=session:m=8',
    'lpwl-kappa:kappa=2.5e-6',
    'lpwl-kappa:kappa=1E-3',
    'unified:hitShare=0:loadFactor=+3.',
    'random:seed=4294967295',
  ])('is kept as it was given: %s', (text) => {
    expect(createPolicy(text).spec).toBe(text);
  });

  it.each<[PolicySpec, string]>([
    [{ name: 'lpwl' }, 'lpwl'],
    [
      { name: 'kv-aware', by: 'work', k: 200, overlap: 'fair' },
      'kv-aware:overlap=fair:loadFloor=200:by=work',
    ],
    [{ name: 'kv-aware', alpha: 1, m: 1, maxRejects: undefined }, 'kv-aware'],
    [{ name: 'kv-aware', floorScope: 'all', k: 5 }, 'kv-aware:loadFloor=5:floorScope=all'],
    [{ name: 'kv-aware', floorScope: 'worker' }, 'kv-aware'],
    [{ name: 'kv-aware', alpha: 0.5 }, 'kv-aware:alpha=0.5'],
    [{ name: 'lpwl-kappa', kappa: 1e-9 }, 'lpwl-kappa:kappa=1e-9'],
    [{ name: 'random', seed: 7 }, 'random:seed=7'],
  ])('has a canonical text when it is an object: %o', (spec, text) => {
    expect(createPolicy(spec).spec).toBe(text);
    expect(createPolicy(text).spec).toBe(text);
  });

  it('means the same as text and as object', () => {
    const workers = [{ counted: 2 ** 20, work: 30 }, { work: 10 }];
    const expected = [1, 100]; // mean 20: ⌊200 · 10/20⌋
    for (const spec of [
      'kv-aware:overlap=fair:k=200:by=work',
      'kv-aware:by=work:loadFloor=200:overlap=fair',
      { name: 'kv-aware', overlap: 'fair', loadFloor: 200, by: 'work' },
      { name: 'kv-aware', overlap: 'fair', k: 200, by: 'work' },
    ])
      expect(valuesOf(explain(spec, workers), 'score')).toEqual(expected);
  });
});

describe('a bad spec', () => {
  it.each<[unknown, string, ...string[]]>([
    [undefined, TYPE, 'policy must be a string or an object', 'undefined'],
    [null, TYPE, 'null'],
    [7, TYPE, 'got 7'],
    [[], TYPE, 'policy.name must be a string'],
    [{}, TYPE, 'policy.name must be a string'],
    [{ name: 7 }, TYPE, 'policy.name', 'got 7'],
    ['', RANGE, 'policy must be one of kv-aware, lpwl,', 'random, got ""'],
    ['kvaware', RANGE, 'did you mean kv-aware?', 'got "kvaware"'],
    ['KV-Aware', RANGE, 'did you mean kv-aware?'],
    ['lwpl', RANGE, 'did you mean lpwl?'],
    ['kv-aware ', RANGE, 'did you mean kv-aware?'],
    ['constructor', RANGE, 'got "constructor"'],
    [{ name: 'roundrobin' }, RANGE, 'did you mean round-robin?'],
    [
      'kv-aware:overlp=set',
      RANGE,
      'an option of kv-aware must be one of overlap, maxOwners, m,',
      'did you mean overlap?',
    ],
    ['kv-aware:LOADFLOOR=2', RANGE, 'did you mean loadFloor?'],
    ['kv-aware:constructor=2', RANGE, 'got "constructor"'],
    ['kv-aware:kappa=2', RANGE, 'an option of kv-aware', 'got "kappa"'],
    ['lpwl:k=2', RANGE, 'an option of lpwl must be left out: it has none, got "k"'],
    [{ name: 'sticky', alpha: 1 }, RANGE, 'an option of sticky'],
    [{ name: 'kv-aware', policy: 'x' }, RANGE, 'got "policy"'],
    ['kv-aware:', RANGE, 'of the form option=value', 'got ""'],
    ['kv-aware::k=1', RANGE, 'of the form option=value'],
    ['kv-aware:k', RANGE, 'of the form option=value', 'got "k"'],
    ['kv-aware:=1', RANGE, 'of the form option=value', 'got "=1"'],
    ['kv-aware:k=1:k=1', RANGE, 'loadFloor of kv-aware must be given once', 'k and k'],
    ['kv-aware:loadFloor=1:k=2', RANGE, 'loadFloor of kv-aware must be given once', 'loadFloor and k'],
    [{ name: 'kv-aware', k: 1, loadFloor: 1 }, RANGE, 'given once', 'k and loadFloor'],
    ['kv-aware:k=', RANGE, 'loadFloor of kv-aware must be a number from 0 to 4294967295', 'got ""'],
    ['kv-aware:k=many', RANGE, 'got "many"'],
    ['kv-aware:k=0x10', RANGE, 'got "0x10"'],
    ['kv-aware:k= 1', RANGE, 'got " 1"'],
    ['kv-aware:k=.', RANGE, 'got "."'],
    ['kv-aware:k=1=2', RANGE, 'got "1=2"'],
    ['kv-aware:k=NaN', RANGE, 'got "NaN"'],
    ['kv-aware:k=Infinity', RANGE, 'got "Infinity"'],
    ['kv-aware:k=1e999', RANGE, 'got Infinity'],
    ['kv-aware:k=-1', RANGE, 'got -1'],
    ['kv-aware:alpha=4294967296', RANGE, 'alpha of kv-aware', '4294967296'],
    ['kv-aware:m=0', RANGE, 'maxOwners of kv-aware must be an integer from 1'],
    ['kv-aware:m=1.5', RANGE, 'an integer', 'got 1.5'],
    ['kv-aware:maxRejects=-1', RANGE, 'maxRejects'],
    [
      'kv-aware:overlap=Fair',
      RANGE,
      'overlap of kv-aware must be one of set, prefix, exclusive, fair (did you mean fair?)',
    ],
    ['kv-aware:floorScope=every', RANGE, 'floorScope of kv-aware must be one of worker, session, all, got'],
    [{ name: 'kv-aware', floorScope: true }, TYPE, 'floorScope of kv-aware must be a string'],
    ['kv-aware:by=', RANGE, 'by of kv-aware must be one of assigned, work, got ""'],
    ['lpwl-kappa:kappa=2', RANGE, 'from 0 to 1'],
    ['unified:hitShare=1.1', RANGE, 'hitShare of unified'],
    ['random:seed=0.5', RANGE, 'seed of random', 'an integer from 0 to 4294967295'],
    [{ name: 'kv-aware', k: Number.NaN }, RANGE, 'got NaN'],
    [{ name: 'kv-aware', k: '200' }, TYPE, 'loadFloor of kv-aware must be a number', '"200"'],
    [{ name: 'kv-aware', k: null }, TYPE, 'got null'],
    [{ name: 'kv-aware', k: 5n }, TYPE, 'got 5n'],
    [{ name: 'kv-aware', overlap: 1 }, TYPE, 'overlap of kv-aware must be a string'],
  ])('is refused: %o', (spec, code, ...words) => {
    const error = errorOf(spec);
    expect(error.code).toBe(code);
    for (const word of words) expect(error.message).toContain(word);
  });

  it('suggests nothing that is spelled too differently', () => {
    for (const spec of ['x', 'zigzag', 'kv-aware:x=1', 'kv-aware:overlap=no', 'y'.repeat(1e6)])
      expect(errorOf(spec).message).not.toContain('did you mean');
  });

  it('is shown in short when it is long', () => {
    expect(errorOf('y'.repeat(1e6)).message.length).toBeLessThan(300);
    expect(errorOf(`kv-aware:k=${'1'.repeat(1e6)}`).message.length).toBeLessThan(300);
  });
});

describe('the registry', () => {
  const bad = (option: PolicyOption) => (option.kind === 'choice' ? 'no such' : option.max + 1);
  const good = (option: PolicyOption) => (option.kind === 'choice' ? option.choices.at(-1)! : option.max);

  it('lists every policy of the design once', () => {
    expect(policyKinds.map(({ name }) => name)).toEqual([
      ...['kv-aware', 'lpwl', 'lpwl-kappa', 'lmetric', 'load-only', 'sticky', 'unified'],
      ...['round-robin', 'random'],
    ]);
  });

  it.each(policyKinds.flatMap((kind) => kind.options.map((option) => ({ kind, option }))))(
    '$kind.name has the option $option.name as described',
    ({ kind, option }) => {
      expect(option.help).not.toBe('');
      for (const key of [option.name, ...(option.alias === undefined ? [] : [option.alias])]) {
        expect(createPolicy(`${kind.name}:${key}=${good(option)}`).spec).toContain(key);
        expect(createPolicy({ name: kind.name, [key]: option.default }).spec).toBe(kind.name);
        expect(errorOf({ name: kind.name, [key]: bad(option) }).code).toBe(RANGE);
      }
    },
  );

  it('says what spreads the requests of each policy', () => {
    const namesBy = (by: string) =>
      policyKinds.filter((kind) => kind.spreadsBy === by).map(({ name }) => name);
    expect(namesBy('overlap')).toEqual(['kv-aware']);
    expect(namesBy('load')).toEqual(['lpwl', 'lpwl-kappa', 'lmetric', 'load-only', 'sticky', 'unified']);
    expect([...namesBy('turns'), ...namesBy('draws')]).toEqual(['round-robin', 'random']);
  });

  it.each(policyKinds)(
    '$name has a sentence, and option names that are all different',
    ({ summary, options }) => {
      expect(summary).toMatch(/^[A-Z].*\.$/);
      const names = options.flatMap(({ name, alias }) => [name, ...(alias === undefined ? [] : [alias])]);
      expect(new Set(names).size).toBe(names.length);
    },
  );
});
