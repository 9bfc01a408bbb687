import { expect, test } from 'vitest';
import { KvIndex } from '../../../src/kv-index/index.js';
import { admit } from '../../../src/routing/admit.js';
import { Dispatcher } from '../../../src/routing/dispatch/dispatcher.js';
import type { AdmissionReply, AdmissionRequest } from '../../../src/routing/dispatch/types.js';
import { Router } from '../../../src/routing/router.js';
import { sessionSketch } from '../../../src/sketch/session-sketch.js';
import { range } from '../../kv-index/support.js';
import { admitted, refused } from './support.js';

const BLOCK = 10;
const PROMPT = range(1, 6);

/** A router that served a session on worker a, and thinks that all of the prompt is there. */
function served(): Router {
  const router = new Router({ blockSize: BLOCK, policy: 'kv-aware' });
  for (const worker of ['a', 'b']) router.addWorker(worker);
  const { requestId } = router.route({ session: 's', seqHashes: PROMPT });
  router.assign(requestId, 'a');
  router.onDispatch(requestId);
  router.onFinish(requestId);
  return router;
}

const heldBy = (router: Router) =>
  router.explain({ session: 's', seqHashes: PROMPT }).candidates.map(({ overlapBlocks }) => overlapBlocks);

/** What a worker answers that held the session's whole prompt once and has evicted all but its head. */
function worker(name: string, held: number) {
  const index = new KvIndex({ blockSize: BLOCK });
  const handle = index.addWorker(name);
  index.store(handle, PROMPT);
  index.own('s', PROMPT);
  index.remove(handle, PROMPT.subarray(held));
  return ({ inputLength, session, seqHashes, wantsSketch }: AdmissionRequest) =>
    admit({
      inputLength,
      residentBlocks: index.overlap(seqHashes!)[handle.slot]!,
      blockSize: BLOCK,
      sessionKnown: true,
      firstTurn: false,
      pinnedTokens: 0,
      poolTokens: 1000,
      sketch: wantsSketch ? () => sessionSketch(index, handle, session!, { targetFpp: 1e-6 }) : undefined,
    });
}

test.each([true, false])(
  'a worker that evicted what the router thinks it holds says so, when asked: %s',
  async (sketches) => {
    const router = served();
    const answers = worker('a', 2);
    const dispatcher = new Dispatcher(router, { sketches, admit: (_, request) => answers(request) });
    expect(heldBy(router)).toEqual([6, 0]);
    const { worker: took, as } = await dispatcher.dispatch({ session: 's', seqHashes: PROMPT });
    expect([took, as]).toEqual(['a', 'direct']);
    expect(heldBy(router)).toEqual([sketches ? 2 : 6, 0]);
    expect(dispatcher.stats().badSketches).toBe(0);
  },
);

test('a request without a session is not asked for its sketch', async () => {
  const asked: boolean[] = [];
  const admit = ({ wantsSketch }: AdmissionRequest) => {
    asked.push(wantsSketch);
    return admitted('seed');
  };
  const dispatcher = new Dispatcher(served(), { sketches: true, admit: (_, request) => admit(request) });
  await dispatcher.dispatch({ seqHashes: range(100, 6) });
  await dispatcher.dispatch({ session: 's', seqHashes: range(100, 6) });
  expect(asked).toEqual([false, true]);
});

test('a sound sketch of a worker that failed meanwhile is not a bad one', async () => {
  const router = served();
  const answers = worker('a', 2);
  const dispatcher = new Dispatcher(router, {
    sketches: true,
    admit: (name, request) => {
      if (name === 'b') return admitted('reseed');
      router.failWorker(name);
      return answers(request);
    },
  });
  const { worker: took } = await dispatcher.dispatch({ session: 's', seqHashes: PROMPT });
  expect(took).toBe('b');
  expect(dispatcher.stats().badSketches).toBe(0);
});

test('a refusal’s sketch counts before the next worker is chosen', async () => {
  const router = served();
  const answers = worker('a', 0);
  const dispatcher = new Dispatcher(router, {
    sketches: true,
    backoff: { baseMs: 0 },
    admit: (name, request) =>
      name === 'a'
        ? { ...refused(), sketch: answers(request).sketch!, residentTokens: 0 }
        : admitted('reseed'),
  });
  const { worker: took } = await dispatcher.dispatch({ session: 's', seqHashes: PROMPT });
  expect(took).toBe('b');
  expect(heldBy(router)).toEqual([0, 0]);
});

test.each([['a string'], [null], [{}], [new Uint8Array(0)], [new Uint8Array(200)]])(
  'a sketch that is none (%s) is counted, and the answer stands',
  async (sketch) => {
    const router = served();
    const admitAll = (): AdmissionReply => ({ ...admitted('direct'), sketch: sketch as never });
    const dispatcher = new Dispatcher(router, { sketches: true, admit: admitAll });
    const { as } = await dispatcher.dispatch({ session: 's', seqHashes: PROMPT });
    expect(as).toBe('direct');
    expect(heldBy(router)).toEqual([6, 0]);
    expect(dispatcher.stats().badSketches).toBe(1);
  },
);

test('a sketch that comes unasked is not looked at', async () => {
  const router = served();
  const dispatcher = new Dispatcher(router, {
    admit: () => ({ ...admitted('direct'), sketch: new Uint8Array(3) }),
  });
  await dispatcher.dispatch({ session: 's', seqHashes: PROMPT });
  expect(dispatcher.stats().badSketches).toBe(0);
});
