import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Dealer, Subscriber } from 'zeromq';
import {
  FakePublisher,
  type FakePublisherOptions,
  type ReplayLayout,
} from '../../../src/events/fake/index.js';

const END = 'ffffffffffffffff';
/** Long enough for any machine; only a failure waits for it. */
const PATIENCE_MS = 10_000;

const open: { close(): unknown }[] = [];

afterEach(async () => {
  vi.doUnmock('zeromq');
  vi.resetModules();
  for (const socket of open.splice(0).reverse()) await socket.close();
});

async function bind(options?: FakePublisherOptions): Promise<FakePublisher> {
  const publisher = await FakePublisher.bind(options);
  open.push(publisher);
  return publisher;
}

/** Does something again and again until something else has come to an end. */
async function until(end: Promise<unknown>, again: () => void): Promise<void> {
  let isOver = false;
  const over = end.finally(() => {
    isOver = true;
  });
  over.catch(() => {});
  while (!isOver) {
    again();
    await delay(5);
  }
  await over;
}

/** A subscription that is known to stand: it has heard all messages so far from some on. */
async function subscribe(publisher: FakePublisher, options: object = {}): Promise<Subscriber> {
  const subscriber = new Subscriber({ linger: 0, receiveTimeout: PATIENCE_MS, ...options });
  open.push(subscriber);
  subscriber.connect(publisher.endpoint);
  subscriber.subscribe();
  const hearing = (async () => {
    let next: number;
    do next = numberOf((await subscriber.receive())[1]!) + 1;
    while (next < publisher.nextSequence);
  })();
  await until(hearing, () => publisher.publish(payload('hello')));
  return subscriber;
}

function payload(text: string): Uint8Array {
  return Buffer.from(text);
}

function numberOf(bytes: Buffer): number {
  return Number(bytes.readBigUInt64BE());
}

function askFrom(publisher: FakePublisher): Dealer {
  const dealer = new Dealer({ linger: 0, receiveTimeout: PATIENCE_MS, receiveHighWaterMark: 0 });
  open.push(dealer);
  dealer.connect(publisher.replayEndpoint);
  return dealer;
}

function sequenceBytes(sequence: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(sequence));
  return bytes;
}

/** All answers, the end marker too. */
async function replay(dealer: Dealer, start: number): Promise<Buffer[][]> {
  await dealer.send(['', sequenceBytes(start)]);
  const answers: Buffer[][] = [];
  do answers.push(await dealer.receive());
  while (answers.at(-1)!.at(-2)!.toString('hex') !== END);
  return answers;
}

const portOf = (endpoint: string) => Number(endpoint.split(':').at(-1));
const numbersOf = (answers: Buffer[][]) => answers.slice(0, -1).map((frames) => numberOf(frames.at(-2)!));

describe('messages', () => {
  it('are topic, number and payload, numbers from 0 on', async () => {
    const publisher = await bind({ topic: 'kv@pod@model' });
    const subscriber = await subscribe(publisher);
    const sequence = publisher.nextSequence;
    expect(publisher.publish(payload('a'))).toBe(sequence);
    expect(await subscriber.receive()).toEqual(
      [payload('kv@pod@model'), sequenceBytes(sequence), payload('a')].map((bytes) => Buffer.from(bytes)),
    );
    const [first] = await replay(askFrom(publisher), 0);
    expect(numberOf(first!.at(-2)!)).toBe(0);
  });

  it('can be dropped and repeated, and keep their numbers', async () => {
    let from = Number.POSITIVE_INFINITY;
    const publisher = await bind({
      drop: (sequence) => sequence === from + 1,
      repeat: (sequence) => sequence === from + 2,
    });
    const subscriber = await subscribe(publisher);
    from = publisher.nextSequence;
    for (let i = 0; i < 4; i++) publisher.publish(payload(`${i}`));
    const heard: [number, string][] = [];
    for (let i = 0; i < 4; i++) {
      const [, sequence, text] = await subscriber.receive();
      heard.push([numberOf(sequence!) - from, text!.toString()]);
    }
    expect(heard).toEqual([
      [0, '0'],
      [2, '2'],
      [2, '2'],
      [3, '3'],
    ]);
    expect(numbersOf(await replay(askFrom(publisher), from))).toEqual([from, from + 1, from + 2, from + 3]);
  });

  it('wait for nobody: those beyond the high-water mark are lost', async () => {
    const publisher = await bind({ highWaterMark: 2 });
    const subscriber = await subscribe(publisher, { receiveHighWaterMark: 1 });
    const from = publisher.nextSequence;
    const big = Buffer.alloc(1 << 20);
    for (let i = 0; i < 100; i++) publisher.publish(big);
    await publisher.flush();
    let heard = 0;
    const hearing = (async () => {
      for (let sequence = 0; sequence < from + 100; heard++)
        sequence = numberOf((await subscriber.receive())[1]!);
    })();
    await until(hearing, () => publisher.publish(payload('end')));
    expect(heard).toBeLessThan(100);
  });
});

describe.each<ReplayLayout>(['vllm-old', 'vllm-new'])('a replay in the layout %s', (replayLayout) => {
  const isOld = replayLayout === 'vllm-old';

  it('starts at the number that was asked for, and has an end', async () => {
    const publisher = await bind({ replayLayout, topic: 't' });
    for (const text of ['a', 'b', 'c']) publisher.publish(payload(text));
    const dealer = askFrom(publisher);
    const texts = (await replay(dealer, 1)).map((frames) =>
      frames.map((frame) => (frame.length === 8 ? frame.toString('hex') : frame.toString())),
    );
    expect(texts).toEqual(
      isOld
        ? [
            ['', '0000000000000001', 'b'],
            ['', '0000000000000002', 'c'],
            ['', END, ''],
          ]
        : [
            ['', 't', '0000000000000001', 'b'],
            ['', 't', '0000000000000002', 'c'],
            ['', '', END, ''],
          ],
    );
    expect(await replay(dealer, 3)).toHaveLength(1);
    expect(await replay(dealer, 1000)).toHaveLength(1);
  });

  it('starts above it where the buffer no longer reaches back', async () => {
    const publisher = await bind({ replayLayout, bufferSteps: 3 });
    for (let i = 0; i < 8; i++) publisher.publish(payload(`${i}`));
    const answers = await replay(askFrom(publisher), 1);
    expect(numbersOf(answers)).toEqual([5, 6, 7]);
    expect(answers.slice(0, -1).map((frames) => frames.at(-1)!.toString())).toEqual(['5', '6', '7']);
  });

  it('of the whole buffer loses nothing', async () => {
    const publisher = await bind({ replayLayout });
    for (let i = 0; i < 10_050; i++) publisher.publish(payload('x'));
    const numbers = numbersOf(await replay(askFrom(publisher), 0));
    expect(numbers).toEqual(Array.from({ length: 10_000 }, (_, i) => 50 + i));
  });

  it('is not made for requests of another form, which are ignored', async () => {
    const publisher = await bind({ replayLayout });
    publisher.publish(payload('a'));
    const dealer = askFrom(publisher);
    await dealer.send([sequenceBytes(0)]);
    await dealer.send(['', 'short']);
    await dealer.send(['', sequenceBytes(0), 'more']);
    await dealer.send(['x', sequenceBytes(0)]);
    expect(numbersOf(await replay(dealer, 0))).toEqual([0]);
  });
});

describe('a publisher', () => {
  it('that is closed gives its ports back, and the next one starts at 0', async () => {
    const first = await bind();
    first.publish(payload('a'));
    await first.close();
    await first.close();
    expect(() => first.publish(payload('b'))).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_CLOSED' }));
    const [port, replayPort] = [first.endpoint, first.replayEndpoint].map((at) =>
      Number(at.split(':').at(-1)),
    );
    const second = await bind({ port, replayPort });
    expect([second.endpoint, second.replayEndpoint]).toEqual([first.endpoint, first.replayEndpoint]);
    expect(second.nextSequence).toBe(0);
  });

  it('can be closed while the other sides go, and follow on the same ports, many times', async () => {
    let ports = {};
    for (let life = 0; life < 50; life++) {
      const publisher = await bind(ports);
      const [port, replayPort] = [publisher.endpoint, publisher.replayEndpoint].map(portOf);
      ports = { port, replayPort };
      const subscriber = await subscribe(publisher);
      const dealer = askFrom(publisher);
      expect(numbersOf(await replay(dealer, 0))).toHaveLength(publisher.nextSequence);
      dealer.close();
      subscriber.close();
      await publisher.close();
    }
  });

  it('says so when an address is taken', async () => {
    const port = portOf((await bind()).endpoint);
    await expect(FakePublisher.bind({ port })).rejects.toMatchObject({ code: 'ERR_KVIDX_TRANSPORT' });
  });

  it('says what to install where zeromq is missing', async () => {
    vi.resetModules();
    vi.doMock('zeromq', () => {
      throw new Error('not there');
    });
    const { FakePublisher: Fresh } = await import('../../../src/events/fake/index.js');
    await expect(Fresh.bind()).rejects.toMatchObject({
      code: 'ERR_KVIDX_TRANSPORT',
      message: expect.stringContaining('npm install zeromq'),
    });
  });

  it.each<[object, string]>([
    [{ port: 65_536 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ replayLayout: 'sglang' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ bufferSteps: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ drop: true }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    [{ host: 5 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
  ])('refuses %j', async (options, code) => {
    await expect(FakePublisher.bind(options)).rejects.toMatchObject({ code });
  });
});
