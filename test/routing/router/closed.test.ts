import { expect, test } from 'vitest';
import type { Router } from '../../../src/routing/router.js';
import { codeOf } from '../../kv-index/support.js';
import { prompt, routerOf, serve } from './support.js';

const CALLS: Record<string, (router: Router) => unknown> = {
  addWorker: (router) => router.addWorker('new'),
  'addWorker of one that is known': (router) => router.addWorker('a'),
  'addWorker of one that drains': (router) => router.addWorker('b'),
  failWorker: (router) => router.failWorker('a'),
  removeWorker: (router) => router.removeWorker('a'),
  route: (router) => router.route({ session: 'new', seqHashes: prompt(1, 3) }),
  explain: (router) => router.explain({ seqHashes: prompt(1, 3) }),
  reroute: (router) => router.reroute('routed'),
  assign: (router) => router.assign('routed', 'a'),
  onDispatch: (router) => router.onDispatch('routed'),
  onFinish: (router) => router.onFinish('prefill'),
  endSession: (router) => router.endSession('s'),
  expire: (router) => router.expire(1e15),
};

test.each(Object.entries(CALLS))('%s of a closed router is refused, and changes nothing', (_, call) => {
  const router = routerOf(['a', 'b'], { recordAt: 'finish' });
  serve(router, { session: 's', seqHashes: prompt(1, 3) }, 'a');
  for (const requestId of ['routed', 'prefill']) {
    router.assign(router.route({ requestId, session: 's', seqHashes: prompt(1, 3) }).requestId, 'a');
  }
  router.onDispatch('prefill');
  router.drainWorker('b');
  router.close();
  const before = router.stats();
  expect(codeOf(() => call(router))).toBe('ERR_KVIDX_CLOSED');
  expect(router.stats()).toEqual(before);
});

test('closing twice is closing once, and using closes', () => {
  const router = routerOf(['a']);
  router.close();
  router.close();
  router[Symbol.dispose]();
  const { index } = router;
  expect(codeOf(() => index.stats())).toBe('ERR_KVIDX_CLOSED');
});

test('what needs no index still answers on a closed router', () => {
  const router = routerOf(['a', 'b']);
  const { requestId } = router.route({ seqHashes: prompt(1, 3) });
  router.close();
  expect(router.workers()).toHaveLength(2);
  expect(router.onFirstToken(requestId)).toBe(false);
  expect(router.onError(requestId)).toBe(true);
  expect(router.stats()).toMatchObject({ requests: 0, errors: 1 });
});

test.each(['onFirstToken', 'onFinish', 'onError', 'onReject'] as const)(
  '%s on a closed router does all or nothing, where prompts count from the route on',
  (hook) => {
    for (const dispatched of [false, true]) {
      const router = routerOf(['a'], { recordAt: 'route' });
      router.route({ requestId: 'r', session: 's', seqHashes: prompt(1, 3) });
      if (dispatched) router.onDispatch('r');
      router.close();
      const before = router.stats();
      let told = 0;
      router.whenPrefilled('r', () => {
        told += 1;
      });
      const code = codeOf(() => router[hook]('r'));
      if (code === 'ERR_KVIDX_CLOSED') {
        expect(router.stats()).toEqual(before);
        expect(told).toBe(0);
      } else {
        expect(code).toBe('nothing thrown');
        expect(router.stats()).not.toEqual(before);
      }
    }
  },
);
