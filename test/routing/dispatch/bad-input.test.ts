import { describe, expect, test } from 'vitest';
import { Dispatcher } from '../../../src/routing/dispatch/dispatcher.js';
import { codeOf } from '../../kv-index/support.js';
import { admitted, codeOfRejection, FakeRouter, setUp } from './support.js';

const direct = () => admitted('direct');

describe('bad input', () => {
  const TYPE = 'ERR_KVIDX_INVALID_ARG_TYPE';
  const RANGE = 'ERR_KVIDX_OUT_OF_RANGE';
  const codeWith = (options: object) =>
    codeOf(() => new Dispatcher(new FakeRouter('a'), { admit: direct, ...options }));

  test('a dispatcher needs a router and a way to ask', () => {
    for (const router of [undefined, null, {}, { route: () => {} }])
      expect(codeOf(() => new Dispatcher(router as never, { admit: direct }))).toBe(TYPE);
    for (const options of [undefined, null, 5, {}, { admit: 'x' }])
      expect(codeOf(() => new Dispatcher(new FakeRouter(), options as never))).toBe(TYPE);
  });

  test.each(['admitTimeoutMs', 'maxPauseMs', 'seedDeadlineMs', 'seedLeaseMs'])('%s is a time', (name) => {
    for (const value of ['5', null, 5n]) expect(codeWith({ [name]: value })).toBe(TYPE);
    for (const value of [-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])
      expect(codeWith({ [name]: value })).toBe(RANGE);
  });

  test('a backoff is in range', () => {
    for (const name of ['baseMs', 'maxMs', 'factor', 'jitter']) {
      expect(codeWith({ backoff: { [name]: '5' } })).toBe(TYPE);
      for (const value of [-1, Number.NaN, Number.POSITIVE_INFINITY])
        expect(codeWith({ backoff: { [name]: value } })).toBe(RANGE);
    }
    expect(codeWith({ backoff: { factor: 0.5 } })).toBe(RANGE);
    expect(codeWith({ backoff: { jitter: 1.1 } })).toBe(RANGE);
    expect(codeWith({ backoff: 5 })).toBe(TYPE);
  });

  test('numbers of seeds are whole, and one may be under way', () => {
    expect(codeWith({ maxPendingSeeds: 0 })).toBe(RANGE);
    expect(codeWith({ maxPendingSeeds: 1.5 })).toBe(RANGE);
    expect(codeWith({ maxQueuedSeeds: -1 })).toBe(RANGE);
    expect(codeWith({ maxQueuedSeeds: '1' })).toBe(TYPE);
    expect(codeWith({ seed: 2 ** 32 })).toBe(RANGE);
  });

  test('prefill workers are names; clock and release are what they are', () => {
    expect(codeWith({ prefillWorkers: 'p' })).toBe(TYPE);
    expect(codeWith({ prefillWorkers: [5] })).toBe(TYPE);
    expect(codeWith({ prefillWorkers: [''] })).toBe(RANGE);
    expect(codeWith({ release: 'x' })).toBe(TYPE);
    expect(codeWith({ clock: {} })).toBe(TYPE);
    expect(codeWith({ clock: null })).toBe(TYPE);
  });

  test('a dispatch rejects, and nothing is under way', async () => {
    const { router, dispatcher } = setUp({ a: direct });
    for (const request of [undefined, null, 5, { tokens: [1], signal: 'x' }])
      expect(await codeOfRejection(dispatcher.dispatch(request as never))).toBe(TYPE);
    expect(router.requests.size).toBe(0);
    expect(dispatcher.stats().pending).toBe(0);
  });
});
