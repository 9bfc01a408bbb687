import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Publisher, Subscriber } from 'zeromq';
import { ZmqSubscriber } from '../../../src/events/zmq/zmq-subscriber.js';
import { freePorts } from '../../free-ports.js';
import { batch, checkOf, NotingSink } from '../stream/support.js';
import { caughtUp, Engine, NotingSinks, open, until } from './support.js';

describe('a socket that fails', () => {
  it.each([true, false])('is opened again, engine that replays: %s', async (isReplaying) => {
    const engine = await Engine.start();
    const receive = vi.spyOn(Subscriber.prototype, 'receive');
    onTestFinished(() => receive.mockRestore());
    receive.mockRejectedValueOnce(new Error('no file descriptors'));
    const opened = await open();
    const { endpoint, replayEndpoint } = engine;
    opened.subscriber.follow('w', isReplaying ? { endpoint, replayEndpoint } : { endpoint });
    await until('it is told', () => opened.errors.length > 0);
    expect(opened.errors[0]).toMatchObject({
      code: 'ERR_KVIDX_TRANSPORT',
      message: `${endpoint}: no file descriptors`,
    });
    await until('it is connected again', () => opened.subscriber.status()[0]!.connected);
    await engine.publish(3);
    await caughtUp(opened, 3);
    expect(opened.subscriber.status()[0]).toMatchObject({
      connected: true,
      degraded: undefined,
      messages: 3,
    });
    expect(opened.errors).toHaveLength(1);
  });

  it('is listened at again', async () => {
    const receive = vi.spyOn(Subscriber.prototype, 'receive');
    onTestFinished(() => receive.mockRestore());
    receive.mockRejectedValueOnce(new Error('no file descriptors'));
    const opened = await open();
    const endpoint = `tcp://127.0.0.1:${await freePorts(1)}`;
    opened.subscriber.follow('w', { endpoint, bind: true });
    await until('it is told', () => opened.errors.length > 0);
    const publisher = new Publisher({ linger: 0, reconnectInterval: 20 });
    onTestFinished(() => publisher.close());
    publisher.connect(endpoint);
    await until('a message comes', () => {
      void publisher.send(['', Buffer.alloc(8), batch(0)]);
      return opened.subscriber.status()[0]!.next === 1;
    });
  });
});

describe('a message that is too large', () => {
  const large = Buffer.alloc(1001);
  const number = (n: number) => Buffer.from(n.toString(16).padStart(16, '0'), 'hex');

  it('ends the connection, which is told, and made again', async () => {
    const engine = await Engine.start();
    const opened = await open({ maxMessageBytes: 1000 });
    opened.subscriber.follow('w', { endpoint: engine.endpoint });
    await until('it is connected', () => opened.subscriber.status()[0]!.connected);
    await engine.publish(1);
    await caughtUp(opened, 1);
    await engine.send(['', number(1), large]);
    await until('the end is seen', () => !opened.subscriber.status()[0]!.connected);
    expect(opened.subscriber.status()[0]!.degraded).toBe('unconfirmed');
    await until('it is connected again', () => opened.subscriber.status()[0]!.connected);
    expect(opened.errors.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^tcp:.*: the connection was given up.*maxMessageBytes, 1000/),
    ]);
    await engine.send(['', number(2), batch(2)]);
    await caughtUp(opened, 3);
    expect(opened.subscriber.status()[0]!.degraded).toBe('replay-too-short');
  });

  it('in a replay leaves the stream degraded, and is told', async () => {
    const engine = await Engine.start();
    await engine.publish(4, [0, 1, 2, 3]);
    // A topic that is in the way as a payload would be.
    const long = await Engine.start({ layout: 'with topic', topic: 'x'.repeat(2000) });
    await long.publish(4, [0, 1, 2, 3]);
    const opened = await open({ maxMessageBytes: 1000, replayTimeoutMs: 50, maxHoldMs: 100 });
    opened.subscriber.follow('w', { endpoint: engine.endpoint, replayEndpoint: long.replayEndpoint });
    await until('it is connected', () => opened.subscriber.status()[0]!.connected);
    await until('it is told', () => opened.errors.length > 0);
    expect(opened.errors[0]!.message).toMatch(/lost during a replay.*maxMessageBytes, 1000/);
    await engine.publish(1);
    await until('it is given up', () => opened.subscriber.status()[0]!.next === 5);
    expect(opened.subscriber.status()[0]!.degraded).toBe('late-start');
    expect(opened.subscriber.status()[0]!.failedReplays).toBeGreaterThan(0);
  });

  it('has a bound', async () => {
    for (const maxMessageBytes of [0, 2 ** 31, 1.5]) {
      await expect(ZmqSubscriber.open(new NotingSinks(), { maxMessageBytes })).rejects.toMatchObject({
        code: 'ERR_KVIDX_OUT_OF_RANGE',
      });
    }
  });
});

describe('a stream that nobody follows any more', () => {
  it.each(['unfollow', 'close'] as const)('is unconfirmed after %s', async (how) => {
    const told: string[] = [];
    const engine = await Engine.start();
    const opened = await open({
      onChange: ({ connected, degraded }) => told.push(`${connected} ${degraded}`),
    });
    opened.subscriber.follow('w', engine);
    await engine.publish(2);
    await caughtUp(opened, 2);
    await until('all is known', () => opened.subscriber.status()[0]!.degraded === undefined);
    const sink = opened.sinks.sink('w', 0);
    sink.take();
    if (how === 'unfollow') opened.subscriber.unfollow('w');
    else await opened.subscriber.close();
    expect(sink.take()).toBe('unconfirmed');
    expect(told.at(-1)).toBe('false unconfirmed');
  });

  it('keeps a reason that lasts', async () => {
    const engine = await Engine.start({ buffered: 2 });
    await engine.publish(5);
    const opened = await open();
    opened.subscriber.follow('w', engine);
    await caughtUp(opened, 5);
    opened.sinks.sink('w', 0).take();
    await opened.subscriber.close();
    expect(opened.sinks.sink('w', 0).take()).toBe('');
  });

  it('goes on from there, and is confirmed by the first replay', async () => {
    const engine = await Engine.start();
    await engine.publish(3);
    const sink = new NotingSink();
    const position = { sequence: 1, check: checkOf(batch(1)), degraded: 'unconfirmed' as const };
    const subscriber = await ZmqSubscriber.open({ sink: () => Object.assign(sink, { position }) });
    onTestFinished(() => subscriber.close());
    subscriber.follow('w', engine);
    await until('all is known', () => subscriber.status()[0]!.degraded === undefined);
    expect(sink.take()).toBe('unconfirmed 2 ok');
  });
});

describe('a worker of whom one rank cannot be had', () => {
  it('is not followed, and not asked for', async () => {
    const engine = await Engine.start();
    const { port } = engine.ports;
    const asked: number[] = [];
    const sinks = {
      sink: (_: string, dpRank: number) => {
        asked.push(dpRank);
        return new NotingSink();
      },
    };
    const subscriber = await ZmqSubscriber.open(sinks);
    onTestFinished(() => subscriber.close());
    const endpoint = `tcp://127.0.0.1:${port - 1}`;
    expect(() => subscriber.follow('w', { endpoint, ranks: 2, bind: true })).toThrow(
      expect.objectContaining({ code: 'ERR_KVIDX_TRANSPORT' }),
    );
    expect(asked).toEqual([]);
    expect(subscriber.status()).toEqual([]);
  });

  it('by its sink is not followed either', async () => {
    const sinks = {
      sink: (_: string, dpRank: number) => {
        if (dpRank === 1) throw new Error('no more ranks');
        return new NotingSink();
      },
    };
    const subscriber = await ZmqSubscriber.open(sinks);
    onTestFinished(() => subscriber.close());
    const follow = () => subscriber.follow('w', { endpoint: 'tcp://127.0.0.1:5557', ranks: 2 });
    expect(follow).toThrow('no more ranks');
    expect(subscriber.status()).toEqual([]);
  });
});
