import { describe, expect, test } from 'vitest';
import type { Router } from '../../../src/routing/router.js';
import type { IgnoredHooks } from '../../../src/routing/types.js';
import { codeOf } from '../../kv-index/support.js';
import { loadOf, NO_LOAD, prompt, routerOf, routeTo, serve } from './support.js';

/** A request of 100 tokens, 40 of them cached on `a`, brought to a phase; the worker `a` served one before it. */
const PHASES: Record<string, (router: Router) => void> = {
  unknown: () => {},
  routed: (router) => void route(router),
  refused: (router) => {
    route(router);
    router.onReject('r');
  },
  stranded: (router) => {
    route(router);
    router.failWorker('a');
    router.addWorker('a');
  },
  prefill: (router) => {
    route(router);
    router.onDispatch('r');
  },
  'refused after dispatch': (router) => {
    PHASES.prefill!(router);
    router.onReject('r');
  },
  decode: (router) => {
    PHASES.prefill!(router);
    router.onFirstToken('r');
  },
  finished: (router) => {
    PHASES.decode!(router);
    router.onFinish('r');
  },
  failed: (router) => {
    PHASES.decode!(router);
    router.onError('r');
  },
};

function route(router: Router): void {
  routeTo(router, 'a', { requestId: 'r', session: 's', seqHashes: prompt(1, 10) });
}

const HOOKS = ['onDispatch', 'onFirstToken', 'onFinish', 'onError', 'onReject'] as const;
type Hook = (typeof HOOKS)[number];

const NONE = { ...NO_LOAD, assigned: 0 };
const PREFILL = { inflight: 1, pending: 60, decode: 0, running: 100, assigned: 1 };
const DECODE = { inflight: 1, pending: 0, decode: 100, running: 100, assigned: 1 };
const SERVED = { ...NO_LOAD, assigned: 1 };

/** Why a hook is ignored, or what `a` has after it and which counter rose. */
type Outcome =
  | keyof IgnoredHooks
  | readonly [typeof NONE, 'dispatched' | 'finished' | 'errors' | 'rejects' | undefined];

const WITHOUT_WORKER: Record<Hook, Outcome> = {
  onDispatch: 'outOfOrder',
  onFirstToken: 'outOfOrder',
  onFinish: 'outOfOrder',
  onError: [NONE, 'errors'],
  onReject: 'repeated',
};
const ENDED: Record<Hook, Outcome> = {
  onDispatch: 'unknown',
  onFirstToken: 'unknown',
  onFinish: 'unknown',
  onError: 'unknown',
  onReject: 'unknown',
};
const TABLE: Record<string, Record<Hook, Outcome>> = {
  unknown: ENDED,
  routed: {
    onDispatch: [PREFILL, 'dispatched'],
    onFirstToken: 'outOfOrder',
    onFinish: 'outOfOrder',
    onError: [NONE, 'errors'],
    onReject: [NONE, 'rejects'],
  },
  refused: WITHOUT_WORKER,
  stranded: WITHOUT_WORKER,
  prefill: {
    onDispatch: 'repeated',
    onFirstToken: [DECODE, undefined],
    onFinish: [SERVED, 'finished'],
    onError: [SERVED, 'errors'],
    onReject: [SERVED, 'rejects'],
  },
  'refused after dispatch': { ...WITHOUT_WORKER, onError: [SERVED, 'errors'] },
  decode: {
    onDispatch: 'repeated',
    onFirstToken: 'repeated',
    onFinish: [SERVED, 'finished'],
    onError: [SERVED, 'errors'],
    onReject: 'outOfOrder',
  },
  finished: ENDED,
  failed: ENDED,
};

/** A router whose worker `a` holds four blocks, with no load and nothing assigned. */
function warmRouter(): Router {
  const router = routerOf(['a', 'b'], { residency: 'exact' });
  router.index.store(router.index.addWorker('a'), prompt(1, 4));
  return router;
}

describe.each(Object.entries(TABLE))('of a request that is %s', (phase, row) => {
  test.each(Object.entries(row) as [Hook, Outcome][])('%s → %j', (hook, outcome) => {
    const router = warmRouter();
    PHASES[phase]!(router);
    if (phase === 'stranded') router.index.store(router.index.addWorker('a'), prompt(1, 4));
    const before = router.stats();
    const loadBefore = loadOf(router, 'a');
    const answer = router[hook]('r');
    const after = router.stats();
    expect(loadOf(router, 'b')).toEqual(NONE);
    if (typeof outcome === 'string') {
      expect(answer).toBe(false);
      expect(loadOf(router, 'a')).toEqual(loadBefore);
      const ignoredHooks = { ...before.ignoredHooks, [outcome]: before.ignoredHooks[outcome] + 1 };
      expect(after).toEqual({ ...before, ignoredHooks });
      return;
    }
    const [load, counter] = outcome;
    expect(answer).toBe(true);
    expect(loadOf(router, 'a')).toEqual(load);
    expect(after.ignoredHooks).toEqual(before.ignoredHooks);
    for (const name of ['routed', 'dispatched', 'finished', 'errors', 'rejects'] as const) {
      expect(`${name} ${after[name]}`).toBe(`${name} ${before[name] + (name === counter ? 1 : 0)}`);
    }
    const ends = hook === 'onFinish' || hook === 'onError';
    expect(after.requests).toBe(ends ? 0 : 1);
  });

  test.each(HOOKS)('%s twice counts once', (hook) => {
    const router = warmRouter();
    PHASES[phase]!(router);
    router[hook]('r');
    const load = [loadOf(router, 'a'), loadOf(router, 'b')];
    const { ignoredHooks, ...counters } = router.stats();
    expect(router[hook]('r')).toBe(false);
    expect([loadOf(router, 'a'), loadOf(router, 'b')]).toEqual(load);
    expect(router.stats()).toMatchObject(counters);
    const sum = ({ unknown, repeated, outOfOrder }: IgnoredHooks) => unknown + repeated + outOfOrder;
    expect(sum(router.stats().ignoredHooks)).toBe(sum(ignoredHooks) + 1);
  });
});

test('a session is told from another, and a request from another of its session', () => {
  const router = routerOf(['a']);
  for (const requestId of ['r1', 'r2', 'r3']) {
    router.route({ requestId, session: 's', seqHashes: prompt(1, 3) });
    router.onDispatch(requestId);
  }
  expect(loadOf(router, 'a')).toEqual({ inflight: 3, pending: 90, decode: 0, running: 90, assigned: 3 });
  router.onFirstToken('r2');
  router.onError('r1');
  router.onError('r1');
  expect(loadOf(router, 'a')).toEqual({ inflight: 2, pending: 30, decode: 30, running: 60, assigned: 3 });
  router.onFinish('r3');
  router.onFinish('r2');
  expect(loadOf(router, 'a')).toEqual({ ...NO_LOAD, assigned: 3 });
});

test('an id is free again once its request has ended, and late hooks of its former life find the new one', () => {
  const router = routerOf(['a']);
  const request = { requestId: 'r', seqHashes: prompt(1, 3) };
  router.route(request);
  expect(codeOf(() => router.route(request))).toBe('ERR_KVIDX_OUT_OF_RANGE');
  router.onError('r');
  router.route(request);
  expect(router.onFirstToken('r')).toBe(false);
  expect(router.onDispatch('r')).toBe(true);
});

test('ids that are no names are refused before anything is counted', () => {
  const router = routerOf(['a']);
  const before = router.stats();
  const calls = [
    ...HOOKS.map((hook) => (id: unknown) => router[hook](id as string)),
    (id: unknown) => router.reroute(id as string),
    (id: unknown) => router.assign(id as string, 'a'),
    (id: unknown) => router.whenPrefilled(id as string, () => {}),
  ];
  for (const call of calls) {
    for (const id of [undefined, null, 7, 7n, {}, ['r'], Symbol.iterator]) {
      expect(codeOf(() => call(id))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
    }
    for (const id of ['', '\ud800']) expect(codeOf(() => call(id))).toBe('ERR_KVIDX_OUT_OF_RANGE');
  }
  expect(router.stats()).toEqual(before);
});

test('what a worker takes a request as is one of the four words', () => {
  const router = routerOf(['a']);
  router.route({ requestId: 'r', session: 's', seqHashes: prompt(1, 3) });
  const before = router.stats();
  for (const [admitted, code] of [
    ['yes', 'ERR_KVIDX_OUT_OF_RANGE'],
    ['', 'ERR_KVIDX_OUT_OF_RANGE'],
    [true, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    [null, 'ERR_KVIDX_INVALID_ARG_TYPE'],
  ] as const) {
    expect(codeOf(() => router.onDispatch('r', { admitted } as never))).toBe(code);
  }
  expect(codeOf(() => router.onDispatch('r', null as never))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  expect(router.stats()).toEqual(before);
});

test('a session served without its finish still is no first turn', () => {
  const router = routerOf(['a']);
  expect(router.route({ session: 's', seqHashes: prompt(1, 3) }).firstTurn).toBe(true);
  expect(router.route({ session: 's', seqHashes: prompt(1, 3) }).firstTurn).toBe(true);
  expect(serve(router, { session: 's', seqHashes: prompt(1, 3) }).firstTurn).toBe(true);
  expect(serve(router, { session: 's', seqHashes: prompt(1, 3) }).firstTurn).toBe(false);
});
