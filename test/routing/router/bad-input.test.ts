import { describe, expect, test } from 'vitest';
import { Router } from '../../../src/routing/router.js';
import { codeOf, hashes, tokensFrom } from '../../kv-index/support.js';
import { policyOf, prompt, routerOf, routeTo, serve, stateOf } from './support.js';

const TYPE = 'ERR_KVIDX_INVALID_ARG_TYPE';
const RANGE = 'ERR_KVIDX_OUT_OF_RANGE';
const NO_WORKERS = 'ERR_KVIDX_NO_WORKERS';

/** A router with something of everything: cache, a home, refusals, requests in each phase. */
function filledRouter(options: object = {}): Router {
  const router = routerOf(['a', 'b'], { residency: 'larger', maxRequests: 4, ...options });
  serve(router, { session: 's', seqHashes: prompt(1, 3) }, 'a');
  router.index.store(router.index.addWorker('b'), prompt(2, 3));
  for (const requestId of ['routed', 'prefill', 'decode', 'refused']) {
    routeTo(router, 'a', { requestId, session: `s-${requestId}`, seqHashes: prompt(3, 3) });
  }
  for (const requestId of ['prefill', 'decode']) router.onDispatch(requestId);
  router.onFirstToken('decode');
  router.onReject('refused');
  return router;
}

const detached = (): Uint32Array => {
  const tokens = tokensFrom(1, 30);
  structuredClone(tokens.buffer, { transfer: [tokens.buffer as ArrayBuffer] });
  return tokens;
};

const REQUESTS: [string, unknown, string][] = [
  ['no request', undefined, TYPE],
  ['null', null, TYPE],
  ['a string', 'tokens', TYPE],
  ['neither tokens nor hashes', {}, TYPE],
  ['tokens and hashes', { tokens: [], seqHashes: hashes() }, TYPE],
  ['null for tokens', { tokens: null }, TYPE],
  ['tokens in another typed array', { tokens: new Int32Array(30) }, TYPE],
  ['detached tokens', { tokens: detached() }, TYPE],
  ['shared tokens', { tokens: new Uint32Array(new SharedArrayBuffer(40)) }, TYPE],
  ['a negative token', { tokens: [1, -1] }, RANGE],
  ['a fractional token', { tokens: [1.5] }, RANGE],
  ['a token above 2^32 − 1', { tokens: [2 ** 32] }, RANGE],
  ['NaN among tokens', { tokens: [Number.NaN] }, RANGE],
  ['a hole among tokens', { tokens: new Array(3) }, TYPE],
  ['strings as tokens', { tokens: ['1'] }, TYPE],
  ['a plain array of hashes', { seqHashes: [1n] }, TYPE],
  ['hashes in another typed array', { seqHashes: new BigInt64Array(3) }, TYPE],
  ['null for hashes', { seqHashes: null }, TYPE],
  ['a session that is no string', { session: 7, tokens: [] }, TYPE],
  ['null for a session', { session: null, tokens: [] }, TYPE],
  ['an empty session', { session: '', tokens: [] }, RANGE],
  ['an ill-formed session', { session: '\ud800', tokens: [] }, RANGE],
  ['a session that begins with NUL', { session: '\0s', tokens: [] }, RANGE],
  ['an id that is no string', { requestId: 7, tokens: [] }, TYPE],
  ['null for an id', { requestId: null, tokens: [] }, TYPE],
  ['an empty id', { requestId: '', tokens: [] }, RANGE],
  ...['routed', 'prefill', 'decode', 'refused'].map((requestId): [string, unknown, string] => [
    `an id under way (${requestId})`,
    { requestId, tokens: [] },
    RANGE,
  ]),
  ['a length below the hashed tokens', { tokens: tokensFrom(1, 30), inputLength: 29 }, RANGE],
  ['a length below the blocks', { seqHashes: prompt(1, 3), inputLength: 29 }, RANGE],
  ['a negative length', { tokens: [], inputLength: -1 }, RANGE],
  ['a fractional length', { tokens: [], inputLength: 0.5 }, RANGE],
  ['an infinite length', { tokens: [], inputLength: Number.POSITIVE_INFINITY }, RANGE],
  ['a length of 2^32', { tokens: [], inputLength: 2 ** 32 }, RANGE],
  ['a length that is no number', { tokens: [], inputLength: '30' }, TYPE],
  ['null for a length', { tokens: [], inputLength: null }, TYPE],
  ['a namespace that is no object', { tokens: [], namespace: 'm' }, TYPE],
  ['null for a namespace', { tokens: [], namespace: null }, TYPE],
  ['an unknown field of a namespace', { tokens: [], namespace: { modle: 'm' } }, RANGE],
  ['an empty model', { tokens: [], namespace: { model: '' } }, RANGE],
  ['extra keys that are no map', { tokens: tokensFrom(1, 30), extraKeys: { 0: [1n] } }, TYPE],
  ['null for extra keys', { tokens: tokensFrom(1, 30), extraKeys: null }, TYPE],
  ['an empty string for extra keys', { tokens: tokensFrom(1, 30), extraKeys: '' }, TYPE],
  ['extra keys of no block', { tokens: tokensFrom(1, 30), extraKeys: new Map([[3, [1n]]]) }, RANGE],
  ['extra keys that are no hashes', { tokens: tokensFrom(1, 30), extraKeys: new Map([[0, ['x']]]) }, TYPE],
  ['a namespace with hashes', { seqHashes: prompt(1, 3), namespace: {} }, RANGE],
  ['extra keys with hashes', { seqHashes: prompt(1, 3), extraKeys: new Map() }, RANGE],
];

describe.each(['route', 'explain'] as const)('%s', (call) => {
  test.each(REQUESTS)('with %s is refused and changes nothing', (_, request, code) => {
    const router = filledRouter();
    const before = stateOf(router);
    expect(codeOf(() => router[call](request as never))).toBe(code);
    expect(stateOf(router)).toEqual(before);
    expect(router.route({ tokens: [] }).requestId).toBe('request-2');
  });

  test.each(['session', 'tokens', 'seqHashes', 'requestId', 'inputLength', 'namespace', 'extraKeys'])(
    'that cannot read %s throws what was thrown, and changes nothing',
    (field) => {
      const router = filledRouter();
      const before = stateOf(router);
      const base = field === 'seqHashes' || field === 'tokens' ? {} : { tokens: tokensFrom(1, 30) };
      const request = Object.defineProperty({ requestId: 'new', session: 'new', ...base }, field, {
        get: () => {
          throw new Error('not mine');
        },
      });
      expect(() => router[call](request as never)).toThrow('not mine');
      expect(stateOf(router)).toEqual(before);
    },
  );

  test('with nobody to take a request says who there is', () => {
    const router = new Router();
    const ask = () => router[call]({ tokens: [] });
    expect(codeOf(ask)).toBe(NO_WORKERS);
    expect(ask).toThrow('no workers');
    router.addWorker('a');
    router.addWorker('b');
    router.drainWorker('a');
    router.failWorker('b');
    const before = stateOf(router);
    expect(codeOf(ask)).toBe(NO_WORKERS);
    expect(ask).toThrow('"a" is draining, "b" is down');
    expect(stateOf(router)).toEqual(before);
  });

  test.each([
    ['blocks of 10', false, 30],
    ['blocks of which the last may be partial', true, 21],
  ])('takes %s with inputLength from %s on: %d', (_, partialLastBlock, least) => {
    const router = routerOf(['a'], { partialLastBlock });
    const ask = (inputLength: number) => () => router[call]({ seqHashes: prompt(1, 3), inputLength });
    expect(codeOf(ask(least - 1))).toBe(RANGE);
    expect(codeOf(ask(least))).toBe('nothing thrown');
    expect(codeOf(ask(2 ** 32 - 1))).toBe('nothing thrown');
    expect(codeOf(() => router[call]({ seqHashes: hashes(), inputLength: 0 }))).toBe('nothing thrown');
  });
});

test('a partial last block is cached only as far as it goes', () => {
  const router = routerOf(['a'], { partialLastBlock: true });
  const request = { seqHashes: prompt(1, 3), inputLength: 24 };
  expect(serve(router, request)).toMatchObject({ cachedTokens: 0, newTokens: 24 });
  expect(router.route(request)).toMatchObject({ overlapBlocks: 3, cachedTokens: 24, newTokens: 0 });
});

const NAMES: [string, unknown, string][] = [
  ['undefined', undefined, TYPE],
  ['null', null, TYPE],
  ['a number', 7, TYPE],
  ['an object', {}, TYPE],
  ['an empty name', '', RANGE],
  ['an ill-formed name', 'a\udc00', RANGE],
  ['the name of an estimate', 'a (estimate)', RANGE],
  ['the name of what is expected', 'a (expected)', RANGE],
];

describe.each(NAMES)('%s', (_, name, code) => {
  test('is no name of a worker', () => {
    const router = filledRouter();
    const before = stateOf(router);
    for (const call of [
      () => router.addWorker(name as string),
      () => router.drainWorker(name as string),
      () => router.failWorker(name as string),
      () => router.removeWorker(name as string),
      () => router.assign('routed', name as string),
    ]) {
      expect(codeOf(call)).toBe(code);
    }
    expect(stateOf(router)).toEqual(before);
  });
});

const WORKER_OPTIONS: [unknown, string][] = [
  [null, TYPE],
  ['exact', TYPE],
  [{ residency: 'guess' }, RANGE],
  [{ residency: 7 }, TYPE],
  [{ residency: null }, TYPE],
  [{ capacity: 0 }, RANGE],
  [{ capacity: 1.5 }, RANGE],
  [{ capacity: 2 ** 32 }, RANGE],
  [{ capacity: '7' }, TYPE],
  [{ ttlMs: -1 }, RANGE],
  [{ ttlMs: Number.NaN }, RANGE],
  [{ ttlMs: '7' }, TYPE],
  [{ poolTokens: 0 }, RANGE],
  [{ poolTokens: 2 ** 53 }, RANGE],
  [{ poolTokens: {} }, TYPE],
];

test.each(WORKER_OPTIONS)('addWorker with %j is refused and changes nothing', (options, code) => {
  const router = filledRouter();
  router.drainWorker('b');
  const before = stateOf(router);
  for (const name of ['a', 'b', 'new'])
    expect(codeOf(() => router.addWorker(name, options as never))).toBe(code);
  expect(stateOf(router)).toEqual(before);
});

test('a worker that the index cannot give an estimate does not join', () => {
  const router = filledRouter();
  router.index.addWorker('odd (estimate)', { referenceCounts: true });
  const before = stateOf(router);
  expect(codeOf(() => router.addWorker('odd'))).toBe('ERR_KVIDX_CAPACITY');
  expect(stateOf(router)).toEqual(before);
  expect(['a', 'b']).toContain(router.route({ tokens: [] }).worker);
});

test.each([
  [null, TYPE],
  [{ without: 'a' }, TYPE],
  [{ without: 7 }, TYPE],
])('reroute with %j is refused, and changes nothing', (options, code) => {
  const router = filledRouter();
  const { requestId } = router.route({ tokens: [] });
  const before = stateOf(router);
  expect(codeOf(() => router.reroute(requestId, options as never))).toBe(code);
  expect(stateOf(router)).toEqual(before);
});

test('reading the options of a worker comes before its state', () => {
  const router = filledRouter();
  const options = {
    get capacity(): number {
      throw new Error('not mine');
    },
  };
  const before = stateOf(router);
  expect(() => router.addWorker('new', options)).toThrow('not mine');
  expect(stateOf(router)).toEqual(before);
});

const ROUTER_OPTIONS: [unknown, string][] = [
  [null, TYPE],
  ['kv-aware', TYPE],
  [{ policy: null }, TYPE],
  [{ policy: 7 }, TYPE],
  [{ policy: {} }, TYPE],
  [{ policy: 'kv-awre' }, RANGE],
  [{ policy: 'kv-aware:overlap=most' }, RANGE],
  [{ policy: { decide: () => 0 } }, TYPE],
  [{ blockSize: 0 }, RANGE],
  [{ blockSize: 4_097 }, RANGE],
  [{ namespace: { model: '' } }, RANGE],
  [{ namespace: null }, TYPE],
  [{ residency: 'sketch' }, RANGE],
  [{ recordAt: 'dispatch' }, RANGE],
  [{ recordAt: true }, TYPE],
  [{ maxSessions: 0 }, RANGE],
  [{ sessionIdleMs: -1 }, RANGE],
  [{ maxBlocks: 0 }, RANGE],
  [{ maxBlocks: null }, TYPE],
  [{ maxRequests: 0 }, RANGE],
  [{ requestIdleMs: Number.NaN }, RANGE],
  [{ rejectTtlMs: '1' }, TYPE],
  [{ workHalfLifeMs: 0 }, RANGE],
  [{ workHalfLifeMs: -5 }, RANGE],
  [{ workHalfLifeMs: Number.NaN }, RANGE],
  [{ workHalfLifeMs: '1' }, TYPE],
  [{ migration: null }, TYPE],
  [{ migration: {} }, TYPE],
  [{ migration: { hotTokens: -1 } }, RANGE],
  [{ migration: { hotTokens: 1, cooldownMs: -1 } }, RANGE],
  [{ partialLastBlock: 1 }, TYPE],
  [{ index: { evictedHistory: -1 } }, RANGE],
  [{ index: 7 }, TYPE],
  [{ now: 7 }, TYPE],
  [{ now: () => -1 }, RANGE],
];

test.each(ROUTER_OPTIONS)('a router with %j is refused', (options, code) => {
  expect(codeOf(() => new Router(options as never))).toBe(code);
});

describe('a policy of one’s own', () => {
  test.each([-1, 2, 0.5, Number.NaN, undefined, null, 'length'])('that decides %s is at fault', (place) => {
    const policy = { ...own(), decide: () => place as never };
    const router = routerOf(['a', 'b'], { policy });
    const before = stateOf(router);
    expect(codeOf(() => router.route({ session: 's', tokens: [] }))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(stateOf(router)).toEqual(before);
  });

  test('that asks its router for a decision is refused, and that fails its choice is at fault', () => {
    let ask = (): unknown => undefined;
    const policy = {
      ...own(),
      decide: () => {
        ask();
        return 0;
      },
    };
    const router = routerOf(['a', 'b'], { policy });
    const before = stateOf(router);
    for (const call of [
      () => router.explain({ seqHashes: prompt(1, 90) }),
      () => router.route({ tokens: [] }),
    ]) {
      ask = call;
      expect(codeOf(() => router.route({ seqHashes: prompt(1, 3) }))).toBe('ERR_KVIDX_INTERNAL');
      expect(stateOf(router)).toEqual(before);
    }
    ask = () => router.failWorker('a');
    expect(codeOf(() => router.route({ tokens: [] }))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(router.stats().requests).toBe(0);
  });

  test('that throws leaves the router as it was', () => {
    const policy = {
      ...own(),
      decide: () => {
        throw new Error('not mine');
      },
    };
    const router = routerOf(['a', 'b'], { policy });
    const before = stateOf(router);
    expect(() => router.route({ requestId: 'r', session: 's', seqHashes: prompt(1, 3) })).toThrow('not mine');
    expect(stateOf(router)).toEqual(before);
    expect(router.onDispatch('r')).toBe(false);
  });

  function own() {
    const inner = policyOf('kv-aware');
    return { spec: 'own', counts: inner.counts, explain: inner.explain.bind(inner) };
  }
});
