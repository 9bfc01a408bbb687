import { describe, expect, test } from 'vitest';
import { ask } from '../../../src/routing/dispatch/ask.js';
import type { Reply } from '../../../src/routing/dispatch/reply.js';
import type { AdmissionRequest, DispatcherOptions } from '../../../src/routing/dispatch/types.js';
import { admitted, never, outcome, refused, settled, VirtualClock } from './support.js';

const QUESTION = {
  requestId: 'r',
  session: 's',
  inputLength: 100,
  newTokens: 52,
  firstTurn: true,
  wantsSketch: false,
};

function asking(answer: (request: AdmissionRequest, worker: string) => unknown, signal?: AbortSignal) {
  const clock = new VirtualClock();
  const late: Reply[] = [];
  const admit = ((worker, request) => answer(request, worker)) as DispatcherOptions['admit'];
  const onLate = (reply: Reply) => void late.push(reply);
  const reply = ask('w', QUESTION, { admit, timeoutMs: 1000, clock, signal, onLate });
  reply.catch(() => {});
  return { clock, late, reply };
}

async function answerTo(answer: unknown): Promise<Reply> {
  const { clock, reply } = asking(() => answer);
  const got = await outcome(clock, reply);
  expect(clock.now()).toBe(0);
  return got;
}

describe('an answer', () => {
  test.each(['direct', 'seed', 'reseed'] as const)('that admits as %s is taken', async (as) => {
    expect(await answerTo(admitted(as))).toEqual({ outcome: as, reserved: true });
    expect(await answerTo(Promise.resolve(admitted(as)))).toEqual({ outcome: as, reserved: true });
  });

  test.each(['real-large-append', 'no-d-capacity', 'session-not-resident-no-capacity'] as const)(
    'that refuses for %s is a refusal of that kind',
    async (reason) => {
      expect(await answerTo(refused(reason, 250))).toEqual({
        outcome: reason,
        reserved: false,
        recommendedPauseMs: 250,
      });
    },
  );

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, '250', null, 5n, {}])(
    'that recommends a pause of %s recommends none',
    async (pause) => {
      const reply = await answerTo(refused('no-d-capacity', pause as number));
      expect(reply).toEqual({ outcome: 'no-d-capacity', reserved: false, recommendedPauseMs: undefined });
    },
  );

  test.each([
    [
      { admitted: true, as: 'seed' },
      { outcome: 'seed', reserved: true },
    ],
    [
      { ...admitted('direct'), requiredTokens: '5', reason: 5 },
      { outcome: 'direct', reserved: true },
    ],
    [
      { admitted: false, reason: 'no-d-capacity' },
      { outcome: 'no-d-capacity', reserved: false, recommendedPauseMs: undefined },
    ],
    [
      { ...refused('real-large-append', 5), residentTokens: Number.NaN, as: 5 },
      { outcome: 'real-large-append', reserved: false, recommendedPauseMs: 5 },
    ],
  ])('such as %j is taken, whatever its figures', async (answer, reply) => {
    expect(await answerTo(answer)).toEqual(reply);
  });

  const REASONS = 'real-large-append, no-d-capacity, session-not-resident-no-capacity';
  const TYPE = 'ERR_KVIDX_INVALID_ARG_TYPE';
  const RANGE = 'ERR_KVIDX_OUT_OF_RANGE';
  const good = admitted('direct');
  test.each([
    [undefined, TYPE, 'answer must be an object, got undefined'],
    [null, TYPE, 'answer must be an object, got null'],
    [true, TYPE, 'answer must be an object, got true'],
    ['direct', TYPE, 'answer must be an object, got "direct"'],
    [() => good, TYPE, 'answer must be an object, got a function'],
    [[], TYPE, 'admitted must be a boolean, got undefined'],
    [{}, TYPE, 'admitted must be a boolean, got undefined'],
    [{ ...good, admitted: 'true' }, TYPE, 'admitted must be a boolean, got "true"'],
    [{ ...good, admitted: 1 }, TYPE, 'admitted must be a boolean, got 1'],
    [{ ...refused(), reason: 'mood' }, RANGE, `reason must be one of ${REASONS}, got "mood"`],
    [{ admitted: false }, TYPE, `reason must be one of ${REASONS}, got undefined`],
  ])('such as %j is nonsense', async (answer, code, message) => {
    const reply = await answerTo(answer);
    expect(reply).toEqual({ outcome: 'nonsense', reserved: false, error: expect.any(Error) });
    expect(reply.error).toMatchObject({ code, message });
  });

  test.each([
    [{ admitted: true }, TYPE, 'undefined'],
    [{ ...good, as: ['direct'] }, TYPE, 'an Array'],
    [{ ...good, as: 'yes' }, RANGE, '"yes"'],
    [{ ...good, as: 'fallback' }, RANGE, '"fallback"'],
  ])('such as %j is nonsense that may have reserved room', async (answer, code, got) => {
    const reply = await answerTo(answer);
    expect(reply).toEqual({ outcome: 'nonsense', reserved: true, error: expect.any(Error) });
    expect(reply.error).toMatchObject({
      code,
      message: `as must be one of direct, seed, reseed, got ${got}`,
    });
  });

  test('with getters that throw is nonsense', async () => {
    const throwing = (field: string) =>
      Object.defineProperty({ ...good }, field, {
        get: () => {
          throw new Error('no');
        },
      });
    const error = new Error('no');
    expect(await answerTo(throwing('admitted'))).toEqual({ outcome: 'nonsense', reserved: false, error });
    expect(await answerTo(throwing('as'))).toEqual({ outcome: 'nonsense', reserved: true, error });
    const { proxy, revoke } = Proxy.revocable({}, {});
    // Resolving with it asks for `then` first, which a proxy whose handler is gone refuses.
    const { clock, reply } = asking(() => {
      revoke();
      return proxy;
    });
    expect(await outcome(clock, reply)).toMatchObject({ outcome: 'error' });
  });

  test('is read once a field', async () => {
    let reads = 0;
    const shifty = {
      ...good,
      get as() {
        return reads++ === 0 ? 'seed' : 'banana';
      },
    };
    expect(await answerTo(shifty)).toEqual({ outcome: 'seed', reserved: true });
  });

  test('of an instance is read through its prototype', async () => {
    class Answer {
      get admitted() {
        return true;
      }
      get as() {
        return 'direct';
      }
    }
    expect(await answerTo(new Answer())).toEqual({ outcome: 'direct', reserved: true });
  });
});

describe('a call', () => {
  test('gets the question, the worker and a signal', async () => {
    const calls: [AdmissionRequest, string][] = [];
    const { clock, reply } = asking((request, worker) => {
      calls.push([request, worker]);
      return admitted('direct');
    });
    await outcome(clock, reply);
    expect(calls).toEqual([[{ ...QUESTION, signal: expect.any(AbortSignal) }, 'w']]);
    expect(calls[0]![0].signal.aborted).toBe(false);
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
    [
      'answers a thenable that throws',
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: the point
        then() {
          throw new Error('broken');
        },
      }),
    ],
  ])('that %s is an error', async (_, answer) => {
    const { clock, reply } = asking(answer);
    expect(await outcome(clock, reply)).toEqual({
      outcome: 'error',
      reserved: false,
      error: new Error('broken'),
    });
    expect(clock.now()).toBe(0);
  });

  test('that never settles is a time-out, and its signal is aborted', async () => {
    let signal: AbortSignal | undefined;
    const { clock, reply } = asking((request) => {
      signal = request.signal;
      return never();
    });
    await clock.advance(999);
    expect(signal!.aborted).toBe(false);
    await clock.advance(1);
    expect(await reply).toEqual({ outcome: 'timeout', reserved: false });
    expect(signal!.aborted).toBe(true);
    expect(signal!.reason).toMatchObject({ name: 'TimeoutError' });
    expect(clock.timers).toBe(0);
  });

  test('that answers in time leaves no timer and no abort', async () => {
    let signal: AbortSignal | undefined;
    const { clock, reply } = asking(async (request) => {
      signal = request.signal;
      await settled();
      return refused();
    });
    await settled();
    expect(await reply).toMatchObject({ outcome: 'no-d-capacity' });
    expect(clock.timers).toBe(0);
    expect(signal!.aborted).toBe(false);
  });

  test.each([
    [admitted('seed'), { outcome: 'seed', reserved: true }],
    [refused(), { outcome: 'no-d-capacity', reserved: false, recommendedPauseMs: undefined }],
    ['x', { outcome: 'nonsense', reserved: false, error: expect.any(TypeError) }],
  ])('that answers %j late tells onLate', async (answer, expected) => {
    let answerNow: (answer: unknown) => void = () => {};
    const { clock, reply, late } = asking(() => new Promise((resolve) => (answerNow = resolve)));
    await clock.advance(1000);
    expect(await reply).toMatchObject({ outcome: 'timeout' });
    expect(late).toEqual([]);
    answerNow(answer);
    await settled();
    expect(late).toEqual([expected]);
  });

  test('that rejects late is heard by nobody', async () => {
    const { clock, reply, late } = asking(
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    expect(await outcome(clock, reply)).toEqual({ outcome: 'timeout', reserved: false });
    expect(late).toEqual([]);
  });
});

describe('the caller aborts', () => {
  test('before: nobody is asked', async () => {
    let calls = 0;
    const { clock, reply } = asking(() => calls++, AbortSignal.abort('why'));
    await expect(outcome(clock, reply)).rejects.toBe('why');
    expect(calls).toBe(0);
  });

  test('during: the call is aborted for the same reason, and a late answer told', async () => {
    const controller = new AbortController();
    let signal: AbortSignal | undefined;
    let answerNow: (answer: unknown) => void = () => {};
    const { clock, reply, late } = asking((request) => {
      signal = request.signal;
      return new Promise((resolve) => (answerNow = resolve));
    }, controller.signal);
    await clock.advance(10);
    controller.abort('why');
    await expect(reply).rejects.toBe('why');
    expect(signal!.reason).toBe('why');
    expect(clock.timers).toBe(0);
    answerNow(admitted('direct'));
    await settled();
    expect(late).toEqual([{ outcome: 'direct', reserved: true }]);
  });

  test('within the call itself: the answer is late', async () => {
    const controller = new AbortController();
    const { clock, reply, late } = asking(() => {
      controller.abort('why');
      return admitted('direct');
    }, controller.signal);
    await expect(outcome(clock, reply)).rejects.toBe('why');
    expect(late).toEqual([{ outcome: 'direct', reserved: true }]);
  });

  test('after the answer: nothing happens', async () => {
    const controller = new AbortController();
    let signal: AbortSignal | undefined;
    const { clock, reply } = asking((request) => {
      signal = request.signal;
      return admitted('direct');
    }, controller.signal);
    expect(await outcome(clock, reply)).toMatchObject({ outcome: 'direct' });
    controller.abort();
    expect(signal!.aborted).toBe(false);
  });
});
