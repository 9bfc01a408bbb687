import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { until } from './router-support.js';
import { begun, DONE, event } from './stub-worker.js';
import { failureOf, open, seenBy, textOf } from './upstream-support.js';

describe('a worker that fails in the middle of its answer', () => {
  it('is given up when it is silent, and sees it', async () => {
    const { worker, answer } = await open((arrival) => begun(arrival, event('a')));
    const { pieces } = await answer({ idleMs: 50 });
    const { failure, message } = await failureOf(textOf({ pieces }));
    expect([failure, message]).toEqual(['silent', 'was silent in the middle of its answer for 50 ms']);
    await seenBy(worker);
  });

  it('is not taken for silent while nobody reads', async () => {
    const { worker, answer } = await open((arrival) => begun(arrival, event('a')));
    const { pieces } = await answer({ idleMs: 50 });
    const reader = pieces[Symbol.asyncIterator]();
    expect((await reader.next()).value.toString()).toBe(event('a'));
    worker.arrivals[0]!.response.end(event('b') + DONE);
    await pause(100);
    expect((await reader.next()).value.toString()).toBe(event('b') + DONE);
    expect((await reader.next()).done).toBe(true);
  });

  it.each<[string, string, 'destroy' | 'end']>([
    ['dies', '', 'destroy'],
    ['dies within an event', 'data: {"half', 'destroy'],
    ['ends without [DONE]', '', 'end'],
    ['ends within an event', 'data: {"half', 'end'],
  ])('is told by a failure behind its last whole event: %s', async (_, half, end) => {
    const { answer } = await open(async (arrival) => {
      await begun(arrival, event('a') + half);
      arrival.response[end]();
    });
    const given: string[] = [];
    const { pieces } = await answer();
    const { failure } = await failureOf(
      (async () => {
        for await (const piece of pieces) given.push(piece.toString());
      })(),
    );
    expect(failure).toBe('cut');
    expect(given.join('')).toBe(event('a'));
  });

  it('is given up where an event never ends', async () => {
    const { worker, answer } = await open(async (arrival) => {
      await begun(arrival, event('a'));
      const piece = 'x'.repeat(2 ** 20);
      while (!arrival.response.destroyed) await new Promise((sent) => arrival.response.write(piece, sent));
    });
    const { pieces } = await answer();
    expect(await failureOf(textOf({ pieces }))).toMatchObject({
      failure: 'error',
      message: /more than 8388608 bytes/,
    });
    await seenBy(worker);
  });
});

describe('an abort', () => {
  const reason = new Error('enough');

  it('before the first byte is thrown with its reason, and the worker sees it', async () => {
    const { worker, answer, controller } = await open(() => {});
    const asked = answer();
    await until('the request is there', () => worker.arrivals.length > 0);
    controller.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await seenBy(worker);
  });

  it('in the middle of an answer as well', async () => {
    const { worker, answer, controller } = await open((arrival) => begun(arrival, event('a')));
    const { pieces } = await answer();
    const reading = textOf({ pieces });
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
    await seenBy(worker);
  });

  it('before the call sends nothing', async () => {
    const { worker, answer, controller } = await open();
    controller.abort(reason);
    await expect(answer()).rejects.toBe(reason);
    expect(worker.arrivals).toHaveLength(0);
  });
});
