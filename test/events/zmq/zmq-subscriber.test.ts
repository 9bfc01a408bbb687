import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Publisher } from 'zeromq';
import { ZmqSubscriber } from '../../../src/events/zmq/zmq-subscriber.js';
import { freePorts } from '../../free-ports.js';
import { batch, range } from '../stream/support.js';
import { caughtUp, Engine, LAYOUTS, NotingSinks, open, until } from './support.js';

function numbers(from: number, to: number): string {
  return [...range(from, to)].join(' ');
}

function settled({ subscriber }: { subscriber: ZmqSubscriber }): boolean {
  return subscriber.status().every(({ connected, degraded }) => connected && degraded === undefined);
}

describe.each(LAYOUTS)('a stream whose replays come %s', (layout) => {
  it('begins with what was said before', async () => {
    const engine = await Engine.start({ layout });
    await engine.publish(10);
    const opened = await open();
    opened.subscriber.follow('w', engine);
    await until('all is known', () => settled(opened));
    await engine.publish(5);
    await caughtUp(opened, 15);
    expect(opened.sinks.sink('w', 0).take()).toBe(`unconfirmed ${numbers(0, 10)} ok ${numbers(10, 15)}`);
  });

  it('heals its gaps', async () => {
    const engine = await Engine.start({ layout, topic: 'kv@a@b' });
    const opened = await open();
    opened.subscriber.follow('w', { ...placeOf(engine), topic: 'kv@' });
    await until('all is known', () => settled(opened));
    await engine.publish(100, [0, 3, 4, 5, 50, 99]);
    await caughtUp(opened, 100);
    await until('all is known', () => settled(opened));
    const notes = opened.sinks.sink('w', 0).notes.filter((note) => typeof note === 'number');
    expect(notes.join(' ')).toBe(numbers(0, 100));
    expect(opened.errors).toEqual([]);
  });
});

function placeOf({ endpoint, replayEndpoint }: Engine) {
  return { endpoint, replayEndpoint };
}

describe('an engine that begins anew on the same port', () => {
  it('is noticed by its first message', async () => {
    const engine = await Engine.start();
    const opened = await open();
    opened.subscriber.follow('w', placeOf(engine));
    await until('all is known', () => settled(opened));
    await engine.publish(20);
    await caughtUp(opened, 20);
    await engine.stop();
    await until('the end is seen', () => !opened.subscriber.status()[0]!.connected);
    expect(opened.subscriber.status()[0]!.degraded).toBe('unconfirmed');
    opened.sinks.sink('w', 0).take();
    const again = await Engine.start({ ...engine.ports, life: 1 });
    await until('it is connected', () => opened.subscriber.status()[0]!.connected);
    await again.publish(3);
    await caughtUp(opened, 3);
    await until('all is known', () => settled(opened));
    expect(opened.sinks.sink('w', 0).take()).toMatch(/^restarted (unconfirmed )?0 .*1 .*2/);
  });

  it('is noticed without a live message', async () => {
    const engine = await Engine.start();
    const opened = await open();
    opened.subscriber.follow('w', placeOf(engine));
    await engine.publish(5);
    await caughtUp(opened, 5);
    await engine.stop();
    const again = await Engine.start({ ...engine.ports, life: 1 });
    await again.publish(30);
    await caughtUp(opened, 30);
    await until('all is known', () => settled(opened));
    const { messages } = opened.sinks.sink('w', 0);
    expect(messages.slice(-30).map(({ payload }) => Buffer.from(payload))).toEqual(
      [...range(0, 30)].map((n) => Buffer.from(batch(n, 1))),
    );
    expect(opened.subscriber.status()[0]!.restarts).toBe(1);
  });
});

describe('what cannot be healed', () => {
  it('is a late start without a replay endpoint', async () => {
    const engine = await Engine.start();
    await engine.publish(3);
    const opened = await open();
    opened.subscriber.follow('w', { endpoint: engine.endpoint });
    await until('it is connected', () => opened.subscriber.status()[0]!.connected);
    await until('a message comes', () => {
      void engine.publish(1);
      return opened.subscriber.status()[0]!.messages > 0;
    });
    expect(opened.subscriber.status()[0]!.degraded).toBe('late-start');
  });

  it('is a late start with a replay that does not reach back', async () => {
    const engine = await Engine.start({ buffered: 4 });
    await engine.publish(10);
    const opened = await open();
    opened.subscriber.follow('w', placeOf(engine));
    await caughtUp(opened, 10);
    expect(opened.sinks.sink('w', 0).take()).toBe('unconfirmed 6 late-start 7 8 9');
  });

  it('is a gap when the replay endpoint is dead, and messages go on', async () => {
    const engine = await Engine.start();
    const opened = await open({ replayTimeoutMs: 20, maxHoldMs: 60 });
    opened.subscriber.follow('w', {
      endpoint: engine.endpoint,
      replayEndpoint: `tcp://127.0.0.1:${await freePorts(1)}`,
    });
    await until('it is connected', () => opened.subscriber.status()[0]!.connected);
    await until('a message comes', () => {
      void engine.publish(1);
      return opened.subscriber.status()[0]!.messages > 0;
    });
    await until('it is given up', () => opened.subscriber.status()[0]!.next > 0);
    await engine.publish(2);
    await engine.publish(2, [...range(0, 1000)]);
    await engine.publish(1);
    await until('the gap is seen', () => opened.subscriber.status()[0]!.degraded === 'replay-too-short');
    expect(opened.subscriber.status()[0]!.failedReplays).toBeGreaterThan(0);
  });
});

describe('messages that are none', () => {
  it('are counted, and stop nothing', async () => {
    const engine = await Engine.start();
    const opened = await open();
    opened.subscriber.follow('w', placeOf(engine));
    await until('all is known', () => settled(opened));
    await engine.send(['', 'short', 'payload']);
    await engine.send(['', Buffer.alloc(8)]);
    await engine.send(['', Buffer.alloc(8), 'payload', 'more']);
    await engine.send(['', Buffer.alloc(8, 0xff), 'payload']);
    await engine.publish(2);
    await caughtUp(opened, 2);
    expect(opened.subscriber.status()[0]).toMatchObject({ damaged: 4, messages: 2, degraded: undefined });
  });
});

describe('topics', () => {
  it('are filtered by what they begin with', async () => {
    const engine = await Engine.start({ topic: 'kv\0sgl-kv-epoch=1' });
    const opened = await open();
    opened.subscriber.follow('w', { ...placeOf(engine), topic: 'kv' });
    await until('all is known', () => settled(opened));
    await engine.send(['other', Buffer.alloc(8), 'payload']);
    await engine.publish(1);
    await caughtUp(opened, 1);
    expect(opened.subscriber.status()[0]!.messages).toBeLessThan(2);
  });
});

describe('ranks', () => {
  it('have a port each', async () => {
    const engines = await neighbours();
    const { port, replayPort } = engines[0]!.ports;
    const opened = await open();
    opened.subscriber.follow('w', {
      endpoint: `tcp://127.0.0.1:${port - 2}`,
      replayEndpoint: `tcp://127.0.0.1:${replayPort - 2}`,
      firstRank: 2,
      ranks: 2,
    });
    await engines[0]!.publish(4);
    await engines[1]!.publish(6);
    await caughtUp(opened, 4, 6);
    const status = opened.subscriber.status();
    expect(status.map(({ worker, dpRank, endpoint }) => ({ worker, dpRank, endpoint }))).toEqual([
      { worker: 'w', dpRank: 2, endpoint: engines[0]!.endpoint },
      { worker: 'w', dpRank: 3, endpoint: engines[1]!.endpoint },
    ]);
    expect(status.every(({ ageMs }) => ageMs! >= 0)).toBe(true);
    expect(opened.sinks.sink('w', 3).messages[5]!.payload).toEqual(Buffer.from(batch(5, 3)));
  });

  it('have names with a suffix where there are no ports', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kvidx-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const publisher = new Publisher({ linger: 0 });
    onTestFinished(() => publisher.close());
    await publisher.bind(`ipc://${folder}/kv_dp1`);
    const opened = await open();
    opened.subscriber.follow('w', { endpoint: `ipc://${folder}/kv`, ranks: 2 });
    await until('rank 1 is connected', () => opened.subscriber.status()[1]!.connected);
    expect(opened.subscriber.status()[0]!.connected).toBe(false);
  });

  it('may be in this very process', async () => {
    const publisher = new Publisher({ linger: 0 });
    onTestFinished(() => publisher.close());
    await publisher.bind('inproc://kv');
    const opened = await open();
    opened.subscriber.follow('w', { endpoint: 'inproc://kv' });
    expect(opened.subscriber.status()[0]!.connected).toBe(true);
    await until('a message comes', () => {
      void publisher.send(['', Buffer.alloc(8), batch(0)]);
      return opened.subscriber.status()[0]!.next === 1;
    });
  });
});

/** Engines 2 and 3, the second of which has the ports behind those of the first. */
async function neighbours(): Promise<Engine[]> {
  for (;;) {
    const first = await Engine.start({ life: 2 });
    const { port, replayPort } = first.ports;
    const second = Engine.start({ port: port + 1, replayPort: replayPort + 1, life: 3 });
    const engines = await Promise.all([first, second]).catch(() => undefined);
    if (engines !== undefined) return engines;
  }
}

describe('an engine that connects', () => {
  it('is listened to', async () => {
    const endpoint = `tcp://127.0.0.1:${await freePorts(1)}`;
    const opened = await open();
    opened.subscriber.follow('w', { endpoint, bind: true });
    const publisher = new Publisher({ linger: 0 });
    onTestFinished(() => publisher.close());
    publisher.connect(endpoint);
    await until('it is connected', () => opened.subscriber.status()[0]!.connected);
    await until('a message comes', () => {
      void publisher.send(['', Buffer.alloc(8), batch(0)]);
      return opened.subscriber.status()[0]!.next === 1;
    });
    publisher.close();
    await until('it is gone', () => !opened.subscriber.status()[0]!.connected);
  });

  it('needs a port that is free', async () => {
    const engine = await Engine.start();
    const { subscriber } = await open();
    const follow = () => subscriber.follow('w', { endpoint: engine.endpoint, bind: true });
    expect(follow).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_TRANSPORT' }));
    expect(subscriber.status()).toEqual([]);
  });
});

describe('changes', () => {
  it('are told, of connections and of what is known', async () => {
    const told: string[] = [];
    const engine = await Engine.start();
    const opened = await open({
      onChange: ({ connected, degraded }) => told.push(`${connected ? 'connected' : 'not'} ${degraded}`),
    });
    opened.subscriber.follow('w', placeOf(engine));
    await until('all is known', () => settled(opened));
    await engine.stop();
    await until('the end is seen', () => told.length === 3);
    expect(told).toEqual(['connected unconfirmed', 'connected undefined', 'not unconfirmed']);
  });
});

describe('misuse', () => {
  it('is refused', async () => {
    const { subscriber } = await open();
    const endpoint = 'tcp://127.0.0.1:5557';
    subscriber.follow('w', { endpoint });
    const bad: [string, object][] = [
      ['', { endpoint }],
      ['w', { endpoint }],
      ['v', { endpoint: 'tcp://127.0.0.1' }],
      ['v', { endpoint: 'tcp://*:5557' }],
      ['v', { endpoint: 'udp://127.0.0.1:1' }],
      ['v', { endpoint: 'tcp://127.0.0.1:65535', ranks: 2 }],
      ['v', { endpoint, replayEndpoint: 'tcp://127.0.0.1:*' }],
      ['v', { endpoint, ranks: 0 }],
      ['v', { endpoint, firstRank: -1 }],
    ];
    for (const [worker, options] of bad) {
      expect(
        () => subscriber.follow(worker, options as { endpoint: string }),
        JSON.stringify(options),
      ).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_OUT_OF_RANGE' }));
    }
    expect(() => subscriber.follow('v', { endpoint: 1 as never })).toThrow(
      expect.objectContaining({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' }),
    );
    expect(subscriber.status()).toHaveLength(1);
    await expect(ZmqSubscriber.open({} as never)).rejects.toMatchObject({
      code: 'ERR_KVIDX_INVALID_ARG_TYPE',
    });
    await expect(ZmqSubscriber.open(new NotingSinks(), { idleProbeMs: 0 })).rejects.toMatchObject({
      code: 'ERR_KVIDX_OUT_OF_RANGE',
    });
  });
});

describe('an end', () => {
  it('of one worker lets the others be', async () => {
    const engine = await Engine.start();
    const opened = await open();
    opened.subscriber.follow('a', placeOf(engine));
    opened.subscriber.follow('b', placeOf(engine));
    await until('all is known', () => settled(opened));
    expect(opened.subscriber.unfollow('a')).toBe(true);
    expect(opened.subscriber.unfollow('a')).toBe(false);
    opened.sinks.sink('a', 0).take();
    await engine.publish(3);
    await caughtUp(opened, 3);
    expect(opened.sinks.sink('a', 0).take()).toBe('');
    opened.subscriber.follow('a', placeOf(engine));
    await caughtUp(opened, 3);
  });

  it.each(['before anything', 'while connecting', 'while replaying', 'while nothing is answered'])(
    'comes %s',
    async (when) => {
      const engine = await Engine.start();
      await engine.publish(5000);
      const opened = await open();
      engine.isAnswering = when !== 'while nothing is answered';
      if (when !== 'before anything') opened.subscriber.follow('w', placeOf(engine));
      if (when === 'while replaying')
        await until('replays come', () => opened.sinks.sink('w', 0).notes.length > 9);
      if (when === 'while nothing is answered') await until('it is asked', () => engine.asked.length > 0);
      await opened.subscriber.close();
      const { length } = opened.sinks.sink('w', 0).notes;
      await sleep(20);
      expect(opened.sinks.sink('w', 0).notes).toHaveLength(length);
      expect(() => opened.subscriber.follow('v', placeOf(engine))).toThrow(
        expect.objectContaining({ code: 'ERR_KVIDX_CLOSED' }),
      );
      expect(opened.errors).toEqual([]);
    },
  );
});

describe('without the package zeromq', () => {
  it('says what to install', async () => {
    vi.resetModules();
    vi.doMock('zeromq', () => {
      throw new Error('not here');
    });
    onTestFinished(() => {
      vi.doUnmock('zeromq');
      vi.resetModules();
    });
    const { ZmqSubscriber: Lonely } = await import('../../../src/events/zmq/zmq-subscriber.js');
    await expect(Lonely.open(new NotingSinks())).rejects.toMatchObject({
      code: 'ERR_KVIDX_TRANSPORT',
      message: expect.stringContaining('npm install zeromq'),
    });
  });
});
