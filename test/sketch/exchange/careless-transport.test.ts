import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ANSWER_WITHIN_MS } from '../../../src/sketch/exchange/careful-transport.js';
import { encodeFrame } from '../../../src/sketch/frame.js';
import type { SketchTransport } from '../../../src/sketch/transport/transport.js';
import { following, KEY, pass, publisherOf, subscriberOf } from './sides.js';
import { delta, full } from './support.js';

const BUG = new Error('not connected');
const throwing = () => {
  throw BUG;
};
const NO_ANSWER = expect.objectContaining({
  code: 'ERR_KVIDX_TRANSPORT',
  message: expect.stringContaining('has not answered within 5000 ms'),
});

const unhandled = vi.fn();

beforeEach(() => {
  vi.useFakeTimers({ now: 5000 });
  process.on('unhandledRejection', unhandled);
});
afterEach(async () => {
  vi.useRealTimers();
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

type Method = 'publish' | 'subscribe' | 'setLatest' | 'getLatest';

describe('a transport that throws where it should reject', () => {
  const breaks = (transport: SketchTransport, method: Method) =>
    vi.spyOn(transport, method).mockImplementation(throwing);

  it('costs a frame that cannot be published; the next one is full', async () => {
    const { transport, errors, publisher, sent } = publisherOf({ everyMs: 100 });
    publisher.start();
    await pass();
    const broken = breaks(transport, 'publish');
    await pass(100);
    expect([errors, publisher.stats()]).toEqual([[BUG], expect.objectContaining({ failed: 1, full: 1 })]);
    broken.mockRestore();
    await pass(100);
    expect(sent()).toEqual(['full 5000.0', 'full 5000.2']);
    await publisher.close();
  });

  it('is counted where a frame cannot be stored, which is sent all the same', async () => {
    const { transport, errors, publisher, sent } = publisherOf();
    breaks(transport, 'setLatest');
    await publisher.publish();
    expect([sent(), errors, publisher.stats().failed]).toEqual([['full 5000.0'], [BUG], 1]);
  });

  it.each<Method>(['subscribe', 'getLatest'])('is put up with by both sides: %s', async (method) => {
    const { transport, publisher, sent } = publisherOf();
    breaks(transport, method);
    await publisher.publish();
    expect(sent()).toEqual(['full 5000.0']);
    const joining = subscriberOf();
    const broken = breaks(joining.transport, method);
    const sketch = joining.subscriber.follow('w');
    await pass();
    expect([sketch.degraded, joining.errors]).toEqual(['transport', [{ error: BUG, worker: 'w' }]]);
    broken.mockRestore();
    await pass(2000);
    joining.send(full(5, 0));
    expect(sketch.degraded).toBeUndefined();
  });

  it.each<[string, () => unknown]>([
    ['throws', throwing],
    ['rejects', () => Promise.reject(BUG)],
    ['answers nothing', () => undefined],
    ['never answers', () => new Promise(() => {})],
  ])('ends subscriptions for us in whatever way: it %s', async (_, leave) => {
    const subscribing = async () => leave as () => Promise<void>;
    const { transport, publisher } = publisherOf();
    vi.spyOn(transport, 'subscribe').mockImplementation(subscribing);
    await publisher.publish();
    const joining = subscriberOf();
    vi.spyOn(joining.transport, 'subscribe').mockImplementation(subscribing);
    joining.subscriber.follow('v').close();
    joining.subscriber.follow('w');
    await pass();
    const closing = [publisher.close(), joining.subscriber.close()];
    await pass(ANSWER_WITHIN_MS);
    await Promise.all(closing);
  });
});

describe('a transport that never answers', () => {
  it('does not keep live frames from who waits for the latest one', async () => {
    const { transport, errors, subscriber, send, store } = subscriberOf();
    store(full(5, 0));
    transport.hold('getLatest');
    const sketch = subscriber.follow('w');
    await pass();
    send(full(5, 1), delta(5, 2));
    await pass(ANSWER_WITHIN_MS - 1);
    expect(sketch.sketch).toBeUndefined();
    await pass(1);
    expect([sketch.sketch?.sequence, sketch.degraded]).toEqual([2, undefined]);
    send(delta(5, 3));
    expect(sketch.sketch?.sequence).toBe(3);
    expect(errors).toEqual([{ error: NO_ANSWER, worker: 'w' }]);
  });

  it('is asked for the latest frame again', async () => {
    const { transport, subscriber, store } = subscriberOf({ wantEveryMs: 1000 });
    store(full(5, 0));
    transport.hold('getLatest')();
    vi.spyOn(transport, 'getLatest').mockImplementationOnce(() => new Promise(() => {}));
    const sketch = subscriber.follow('w');
    await pass(ANSWER_WITHIN_MS + 1100);
    expect([sketch.sketch?.sequence, sketch.degraded]).toEqual([0, 'unconfirmed']);
  });

  it('is asked for a full frame again', async () => {
    const { transport, send, subscriber } = await following({ wantEveryMs: 1000 });
    vi.spyOn(transport, 'publish').mockImplementationOnce(() => new Promise(() => {}));
    send(delta(5, 2));
    await pass(100 + ANSWER_WITHIN_MS + 1100);
    expect(subscriber.stats()).toMatchObject({ wanted: 1, transportErrors: 1 });
  });

  it('does not keep a publisher from beginning', async () => {
    const { transport, publisher, sent } = publisherOf();
    transport.hold('getLatest', 'subscribe');
    const first = publisher.publish();
    await pass(ANSWER_WITHIN_MS);
    await first;
    expect(sent()).toEqual(['full 5000.0']);
    await publisher.close();
  });

  it.each<Method>(['publish', 'setLatest'])(
    'costs a frame, whose late end means nothing: %s',
    async (method) => {
      const { transport, errors, publisher, sent } = publisherOf();
      await publisher.publish();
      const release = transport.hold(method);
      const late = publisher.publish({ full: true }).then(
        ({ kind }) => kind,
        (error) => error,
      );
      await pass(ANSWER_WITHIN_MS);
      expect(await late).toEqual(method === 'publish' ? NO_ANSWER : 'full');
      expect([errors, publisher.stats().failed]).toEqual([[NO_ANSWER], 1]);
      release();
      await publisher.publish();
      if (method === 'publish') expect(sent()).toEqual(['full 5000.0', 'full 5000.1', 'full 5000.2']);
      expect(publisher.stats().failed).toBe(1);
    },
  );

  it('does not keep a publisher from closing', async () => {
    const { transport, publisher } = publisherOf();
    await publisher.publish();
    transport.hold();
    void publisher.publish().catch(() => {});
    const closing = expect(publisher.close({ clear: true })).rejects.toEqual(NO_ANSWER);
    await pass(4 * ANSWER_WITHIN_MS);
    await closing;
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a transport that gives what is no message', () => {
  it('is not believed', async () => {
    const { transport, sketch, at } = await following();
    for (const { onMessage } of transport.listeners) onMessage('frame' as unknown as Uint8Array);
    expect([at(), sketch.degraded]).toEqual(['5.0', 'bad-frame']);
  });

  it('has no latest frame', async () => {
    const { transport, publisher, sent } = publisherOf();
    transport.latest.set(KEY, { bytes: encodeFrame(full(9000, 0)), ttlMs: 1 });
    vi.spyOn(transport, 'getLatest').mockImplementation(async () => null as unknown as undefined);
    await publisher.publish();
    expect(sent()).toEqual(['full 5000.0']);
  });
});
