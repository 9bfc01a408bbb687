/** A fake engine of two ranks and its subscriber over real sockets. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { encodeBatch, FakePublisher, type FakePublisherOptions } from '../../../src/events/fake/index.js';
import { ZmqSubscriber } from '../../../src/events/zmq/zmq-subscriber.js';
import { type DegradedReason, EventFeed, KvIndex } from '../../../src/index.js';
import { Random } from '../../../src/random.js';
import { freePorts } from '../../free-ports.js';
import { realTrace } from '../../trace/support.js';
import { BLOCK_SIZE, type EngineRun, RANKS, readTrace, runEngine } from './recorded-engine.js';

const REQUESTS = 2_000;
const CHECKPOINTS = 100;
const TIMEOUT_MS = 300_000;
/** Long past what a heal takes; only a failure waits so long. */
const PATIENCE_MS = 60_000;

const trace = realTrace('agentic-48');

let whole: EngineRun;
/** The second half, served by an engine that began anew. */
let afterRestart: EngineRun;

beforeAll(async () => {
  if (trace === undefined) return;
  const rows = await readTrace(trace, REQUESTS);
  expect(rows).toHaveLength(REQUESTS);
  const each = REQUESTS / CHECKPOINTS;
  whole = runEngine(rows, 0, each, 1);
  afterRestart = runEngine(rows, REQUESTS / 2, each, 99);
  expect(whole[0]).toHaveLength(CHECKPOINTS);
}, TIMEOUT_MS);

const closing: (() => unknown)[] = [];
afterEach(async () => {
  while (closing.length > 0) await closing.pop()!();
});

interface Ports {
  readonly events: number;
  readonly replay: number;
}

type Sockets = Omit<FakePublisherOptions, 'port' | 'replayPort'>;

async function publishers(ports: Ports, options: Sockets): Promise<FakePublisher[]> {
  const ranks = Array.from({ length: RANKS }, (_, rank) =>
    FakePublisher.bind({ ...options, port: ports.events + rank, replayPort: ports.replay + rank }),
  );
  return Promise.all(ranks);
}

async function portsOfRanks(): Promise<Ports> {
  const events = await freePorts(2 * RANKS);
  return { events, replay: events + RANKS };
}

/** `saved`: where another one stopped. */
async function subscribe(ports: Ports, saved?: Uint8Array) {
  const index = new KvIndex({ blockSize: BLOCK_SIZE });
  const feed = new EventFeed(index);
  if (saved) feed.restore(saved);
  const subscriber = await ZmqSubscriber.open(feed, { idleProbeMs: 20 });
  closing.push(() => subscriber.close());
  subscriber.follow('w0', {
    endpoint: `tcp://127.0.0.1:${ports.events}`,
    replayEndpoint: `tcp://127.0.0.1:${ports.replay}`,
    ranks: RANKS,
  });
  return { index, feed, subscriber };
}

type Subscribed = Awaited<ReturnType<typeof subscribe>>;

function publishStage(run: EngineRun, stage: number, engine: readonly FakePublisher[]): void {
  engine.forEach((publisher, rank) => {
    for (const payload of run[rank]![stage]!.payloads) publisher.publish(payload);
  });
}

/** Waits until the subscriber has every message, and each of its ranks is degraded so. */
async function reached(
  engine: readonly FakePublisher[],
  { subscriber }: Subscribed,
  expected: DegradedReason | undefined,
): Promise<void> {
  const others = () =>
    subscriber
      .status()
      .filter(({ dpRank, next, degraded }) => next !== engine[dpRank]!.nextSequence || degraded !== expected);
  const end = Date.now() + PATIENCE_MS;
  while (others().length > 0) {
    if (Date.now() > end) throw new Error(`not reached: ${JSON.stringify(others())}`);
    await sleep(2);
  }
}

/** Waits until the subscriber has every message, then compares. */
async function checkpoint(
  run: EngineRun,
  stage: number,
  engine: readonly FakePublisher[],
  subscribed: Subscribed,
): Promise<void> {
  const { index } = subscribed;
  await reached(engine, subscribed, undefined);
  for (const handle of index.workers()) {
    const { held } = run[handle.dpRank]![stage]!;
    expect(bytesOf(index.enumerate(handle)).equals(bytesOf(held)), `rank ${handle.dpRank} at ${stage}`).toBe(
      true,
    );
  }
}

function bytesOf(hashes: BigUint64Array): Buffer {
  return Buffer.from(hashes.buffer, hashes.byteOffset, hashes.byteLength);
}

async function follow(
  run: EngineRun,
  from: number,
  engine: readonly FakePublisher[],
  subscribed: Subscribed,
) {
  for (let stage = from; stage < run[0]!.length; stage++) {
    publishStage(run, stage, engine);
    await checkpoint(run, stage, engine, subscribed);
  }
}

/** A share of the messages, other ones for each rank and run, the same ones each time. */
function share(part: number): () => boolean {
  const random = new Random(7);
  return () => random.uniform() < part;
}

describe.skipIf(trace === undefined).each(['vllm-old', 'vllm-new'] as const)(
  'replays as %s',
  (replayLayout) => {
    test('5 % of the messages lost on the way', { timeout: TIMEOUT_MS }, async () => {
      const ports = await portsOfRanks();
      const engine = await publishers(ports, { replayLayout, drop: share(0.05) });
      closing.push(() => Promise.all(engine.map((publisher) => publisher.close())));
      const subscribed = await subscribe(ports);
      await follow(whole, 0, engine, subscribed);
      const [status] = subscribed.subscriber.status();
      expect(status!.replayedMessages).toBeGreaterThan(0);
    });

    test('a buffer that no longer reaches back: degraded, and said so, until the engine clears', async () => {
      const ports = await portsOfRanks();
      const engine = await publishers(ports, { replayLayout, bufferSteps: 50 });
      closing.push(() => Promise.all(engine.map((publisher) => publisher.close())));
      for (let stage = 0; stage < 5; stage++) publishStage(whole, stage, engine);
      await Promise.all(engine.map((publisher) => publisher.flush())); // gone, before anybody listens
      const subscribed = await subscribe(ports);
      await reached(engine, subscribed, 'late-start');
      const { message, workers } = subscribed.index.explain({ tokens: new Uint32Array(BLOCK_SIZE) });
      expect(workers.map(({ eventsDegraded }) => eventsDegraded)).toEqual(['late-start', 'late-start']);
      expect(message).toContain('events of "w0"');
      engine.forEach((publisher, dpRank) => {
        publisher.publish(encodeBatch('vllm-map', { timestampMs: 0, dpRank, events: [{ kind: 'cleared' }] }));
      });
      await reached(engine, subscribed, undefined);
      expect(subscribed.index.stats().blocks).toBe(0);
    });
  },
);

describe.skipIf(trace === undefined)('at every checkpoint the index has what the engine has', () => {
  test('nothing lost', { timeout: TIMEOUT_MS }, async () => {
    const ports = await portsOfRanks();
    const engine = await publishers(ports, {});
    closing.push(() => Promise.all(engine.map((publisher) => publisher.close())));
    await follow(whole, 0, engine, await subscribe(ports));
  });

  test('5 % of the messages twice', { timeout: TIMEOUT_MS }, async () => {
    const ports = await portsOfRanks();
    const engine = await publishers(ports, { repeat: share(0.05) });
    closing.push(() => Promise.all(engine.map((publisher) => publisher.close())));
    const subscribed = await subscribe(ports);
    await follow(whole, 0, engine, subscribed);
    expect(subscribed.subscriber.status()[0]!.repeats).toBeGreaterThan(0);
  });

  test('a subscriber that starts late', { timeout: TIMEOUT_MS }, async () => {
    const ports = await portsOfRanks();
    const engine = await publishers(ports, { bufferSteps: 2 ** 20 });
    closing.push(() => Promise.all(engine.map((publisher) => publisher.close())));
    for (let stage = 0; stage < CHECKPOINTS / 4; stage++) publishStage(whole, stage, engine);
    await follow(whole, CHECKPOINTS / 4, engine, await subscribe(ports));
  });

  test('a subscriber that stops, and another that goes on from its snapshot', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const ports = await portsOfRanks();
    // Not enough for who starts from nothing.
    const engine = await publishers(ports, { drop: share(0.05), bufferSteps: 2000 });
    closing.push(() => Promise.all(engine.map((publisher) => publisher.close())));
    const former = await subscribe(ports);
    const [stop, goOn] = [CHECKPOINTS / 2, CHECKPOINTS / 2 + 5];
    for (let stage = 0; stage < stop; stage++) {
      publishStage(whole, stage, engine);
      await checkpoint(whole, stage, engine, former);
    }
    const saved = former.feed.snapshot();
    await former.subscriber.close();
    for (let stage = stop; stage < goOn; stage++) publishStage(whole, stage, engine);
    await follow(whole, goOn, engine, await subscribe(ports, saved));
  });

  test('an engine that begins anew in the middle, on the same ports', { timeout: TIMEOUT_MS }, async () => {
    const ports = await portsOfRanks();
    const former = await publishers(ports, { drop: share(0.05) });
    const subscribed = await subscribe(ports);
    for (let stage = 0; stage < CHECKPOINTS / 2; stage++) {
      publishStage(whole, stage, former);
      await checkpoint(whole, stage, former, subscribed);
    }
    await Promise.all(former.map((publisher) => publisher.close()));
    const present = await publishers(ports, { drop: share(0.05) });
    closing.push(() => Promise.all(present.map((publisher) => publisher.close())));
    await follow(afterRestart, 0, present, subscribed);
    expect(subscribed.subscriber.status()[0]!.restarts).toBe(1);
  });
});
