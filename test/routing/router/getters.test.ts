import { describe, expect, test } from 'vitest';
import type { Router } from '../../../src/routing/router.js';
import { tokensFrom } from '../../kv-index/support.js';
import { homeOf, loadOf, NO_LOAD, prompt, routerOf, statsOf } from './support.js';

/*
 * Reading a request may run any code, also on this router: whatever that does, the call that reads then sees it.
 */

/** Requests named `r` that run `first` while they are read. */
const READ: Record<string, (first: () => void) => object> = {
  'a session': (first) => ({
    get session() {
      first();
      return 's';
    },
    tokens: tokensFrom(1, 30),
  }),
  'a token': (first) => ({
    tokens: Object.defineProperty([1, 2, 3], 1, {
      get: () => {
        first();
        return 2;
      },
    }),
  }),
  'a namespace': (first) => ({
    tokens: tokensFrom(1, 30),
    namespace: {
      get model() {
        first();
        return 'm';
      },
    },
  }),
  'extra keys': (first) => ({
    tokens: tokensFrom(1, 30),
    extraKeys: new Map([
      [
        0,
        Object.defineProperty([7n], 0, {
          get: () => {
            first();
            return 7n;
          },
        }),
      ],
    ]),
  }),
};

/** What a route answered, or the code it threw. */
function attempt(call: () => { worker: string }): string {
  try {
    return call().worker;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

describe.each(Object.entries(READ))('%s that runs code when it is read', (_, request) => {
  const read = (router: Router, first: () => void) => {
    const each = request(first);
    Object.defineProperty(each, 'requestId', { value: 'r' });
    return attempt(() => router.route(each as never));
  };

  test('may route the same id: one of the two is refused, and no load is lost', () => {
    const router = routerOf(['a']);
    const answer = read(router, () => {
      router.route({ requestId: 'r', seqHashes: prompt(1, 3) });
      router.onDispatch('r');
    });
    expect(answer).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(router.stats().requests).toBe(1);
    router.onFinish('r');
    expect(loadOf(router, 'a')).toMatchObject(NO_LOAD);
  });

  test('may take the last worker away', () => {
    const router = routerOf(['a']);
    expect(read(router, () => router.drainWorker('a'))).toBe('ERR_KVIDX_NO_WORKERS');
    expect(router.stats()).toMatchObject({ requests: 0, sessions: 0 });
    router.addWorker('a');
    expect(read(router, () => router.removeWorker('a'))).toBe('ERR_KVIDX_NO_WORKERS');
    expect(router.stats()).toMatchObject({ requests: 0, sessions: 0 });
  });

  test('may replace the workers', () => {
    const router = routerOf(['a']);
    const answer = read(router, () => {
      if (router.workers()[0]!.name !== 'a') return;
      router.removeWorker('a');
      router.addWorker('b');
    });
    expect(answer).toBe('b');
    router.onDispatch('r');
    expect(statsOf(router, 'b').inflight).toBe(1);
  });

  test('may end the session', () => {
    const router = routerOf(['a']);
    router.route({ requestId: 'former', session: 's', seqHashes: prompt(1, 3) });
    router.onDispatch('former');
    expect(read(router, () => router.endSession('s'))).toBe('a');
    router.onDispatch('r');
    expect(router.stats().sessions).toBe(homeOf(router, 's') === undefined ? 0 : 1);
  });

  test('may close the router', () => {
    const router = routerOf(['a']);
    expect(read(router, () => router.close())).toBe('ERR_KVIDX_CLOSED');
    expect(router.stats()).toMatchObject({ requests: 0, sessions: 0, routed: 0 });
  });
});
