import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { encodeFrame } from '../../../src/sketch/frame.js';
import { codeOf } from '../../kv-index/support.js';
import { AWAY, type CrankedTransport } from './cranked-transport.js';
import { KEY, pass, publisherOf, WISHES } from './sides.js';
import { full } from './support.js';

beforeEach(() => {
  vi.useFakeTimers({ now: 5000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('start', () => {
  it('sends a frame at once and then every so often, until stop', async () => {
    const { publisher, sent } = publisherOf({ everyMs: 100 });
    publisher.start();
    publisher.start();
    await pass();
    expect(sent()).toEqual(['full 5000.0']);
    await pass(250);
    expect(sent()).toEqual(['full 5000.0', 'delta 5000.1', 'delta 5000.2']);
    publisher.stop();
    await pass(1000);
    expect(sent().length).toBe(3);
    publisher.start();
    await pass();
    expect(sent().length).toBe(4);
    await publisher.close();
  });

  it('leaves frames out while one takes long', async () => {
    const { transport, publisher, sent } = publisherOf({ everyMs: 100 });
    publisher.start();
    await pass();
    const release = transport.hold();
    await pass(1000);
    release();
    await pass();
    expect(sent()).toEqual(['full 5000.0', 'delta 5000.1']);
    await pass(100);
    expect(sent().length).toBe(3);
    expect(transport.mostPublishing).toBe(1);
    await publisher.close();
  });

  it('sends full frames by number and by time', async () => {
    const { publisher, sent } = publisherOf({ everyMs: 100, fullEvery: 4, fullEveryMs: 100_000 });
    publisher.start();
    await pass(800);
    expect(sent().map((frame) => frame.split(' ')[0])).toEqual([
      'full',
      'delta',
      'delta',
      'delta',
      'full',
      'delta',
      'delta',
      'delta',
      'full',
    ]);
    await publisher.close();
  });

  it('goes on after errors, which are told once each', async () => {
    const { transport, resident, errors, publisher, sent } = publisherOf({ everyMs: 100 });
    publisher.start();
    await pass();
    const bug = new Error('bug');
    vi.spyOn(resident, 'hashes').mockImplementationOnce(() => {
      throw bug;
    });
    await pass(100);
    transport.failing.add('publish');
    await pass(100);
    transport.failing.clear();
    await pass(100);
    expect([errors, sent()]).toEqual([
      [bug, AWAY],
      ['full 5000.0', 'full 5000.2'],
    ]);
    await publisher.close();
  });
});

describe('a wish for a full frame', () => {
  const wish = ({ transport }: { transport: CrankedTransport }) =>
    transport.inject(WISHES, new Uint8Array(0));

  it('is granted at once, then every so often', async () => {
    const made = publisherOf({ grantEveryMs: 200 });
    await made.publisher.publish();
    for (let i = 0; i < 5; i++) wish(made);
    await pass();
    expect(made.sent()).toEqual(['full 5000.0', 'full 5000.1']);
    for (let i = 0; i < 5; i++) wish(made);
    await pass(199);
    expect(made.sent().length).toBe(2);
    await pass(1);
    expect(made.sent()).toEqual(['full 5000.0', 'full 5000.1', 'full 5000.2']);
    await pass(10_000);
    expect([made.sent().length, made.publisher.stats().wanted]).toEqual([3, 10]);
  });

  it('is granted by a frame that goes out anyway', async () => {
    const made = publisherOf({ grantEveryMs: 200 });
    await made.publisher.publish();
    wish(made);
    await pass();
    wish(made);
    await made.publisher.publish();
    await pass(1000);
    expect(made.sent()).toEqual(['full 5000.0', 'full 5000.1', 'full 5000.2']);
  });

  it('waits for the next frame after stop', async () => {
    const made = publisherOf();
    await made.publisher.publish();
    made.publisher.stop();
    wish(made);
    await pass(10_000);
    expect(made.sent()).toEqual(['full 5000.0']);
    await made.publisher.publish();
    expect(made.sent()).toEqual(['full 5000.0', 'full 5000.1']);
  });

  it('may say anything', async () => {
    const made = publisherOf();
    await made.publisher.publish();
    made.transport.inject(
      WISHES,
      Uint8Array.from({ length: 1000 }, (_, i) => i),
    );
    await pass();
    expect(made.sent().length).toBe(2);
  });

  it('is heard with a later frame when the store refused to listen', async () => {
    const made = publisherOf();
    made.transport.failing.add('subscribe');
    await made.publisher.publish();
    await pass();
    expect(made.errors).toEqual([AWAY]);
    made.transport.failing.clear();
    await made.publisher.publish();
    await pass();
    wish(made);
    await pass();
    expect(made.sent()).toEqual(['full 5000.0', 'delta 5000.1', 'full 5000.2']);
  });
});

describe('close', () => {
  it('waits for the frame under way, and rejects what waits behind it and comes later', async () => {
    const { transport, errors, publisher, sent } = publisherOf();
    await publisher.publish();
    transport.inject(WISHES, new Uint8Array(0));
    await pass();
    const release = transport.hold();
    const running = publisher.publish();
    const waiting = publisher.publish();
    const refused = expect(waiting).rejects.toMatchObject({ code: 'ERR_KVIDX_CLOSED' });
    const closing = publisher.close();
    release();
    await Promise.all([running, refused, closing]);
    await expect(publisher.publish()).rejects.toMatchObject({ code: 'ERR_KVIDX_CLOSED' });
    expect(codeOf(() => publisher.start())).toBe('ERR_KVIDX_CLOSED');
    await publisher.close();
    expect([sent(), transport.listeners.size, errors, vi.getTimerCount()]).toEqual([
      ['full 5000.0', 'full 5000.1', 'delta 5000.2'],
      0,
      [],
      0,
    ]);
  });

  it('says that nothing is resident when the worker leaves', async () => {
    const { transport, publisher, sent } = publisherOf();
    await publisher.publish();
    await publisher.close({ clear: true });
    expect(sent()).toEqual(['full 5000.0', 'clear 5000.1']);
    expect(transport.frames()[1]).toMatchObject({ z: 0, keys: 0 });
    expect(transport.latest.get(KEY)!.bytes).toEqual(transport.published.at(-1)!.bytes);
  });

  it('says so once, whoever closes it how often', async () => {
    const { transport, publisher, sent } = publisherOf();
    await publisher.publish();
    const release = transport.hold();
    const running = publisher.publish();
    const closing = [{}, { clear: true }, {}, { clear: true }].map((options) => publisher.close(options));
    release();
    await Promise.all([running, ...closing]);
    expect(sent()).toEqual(['full 5000.0', 'delta 5000.1', 'clear 5000.2']);
  });

  it('can say so as the first thing', async () => {
    const { transport, publisher, sent } = publisherOf();
    transport.latest.set(KEY, { bytes: encodeFrame(full(9000, 3)), ttlMs: 1 });
    await publisher.close({ clear: true });
    expect(sent()).toEqual(['clear 9001.0']);
  });

  it('rejects when that could not be said, and is closed', async () => {
    const { transport, publisher } = publisherOf();
    await publisher.publish();
    transport.failing.add('publish');
    await expect(publisher.close({ clear: true })).rejects.toBe(AWAY);
    expect([transport.listeners.size, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it('ends a subscription to wishes that comes late', async () => {
    const { transport, publisher } = publisherOf();
    const subscribing = vi.spyOn(transport, 'subscribe');
    let late = (_: () => Promise<void>) => {};
    const leave = vi.fn(async () => {});
    subscribing.mockImplementationOnce(
      () =>
        new Promise((resolve) => {
          late = resolve;
        }),
    );
    await publisher.publish();
    await publisher.close();
    late(leave);
    await pass();
    expect(leave).toHaveBeenCalledOnce();
  });
});
