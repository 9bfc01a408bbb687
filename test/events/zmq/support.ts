import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { Publisher, Router } from 'zeromq';
import { closeBound } from '../../../src/events/zeromq.js';
import type { ZmqSubscriberOptions } from '../../../src/events/zmq/zmq-subscriber.js';
import { ZmqSubscriber } from '../../../src/events/zmq/zmq-subscriber.js';
import { batch, NotingSink } from '../stream/support.js';

export const LAYOUTS = ['without topic', 'with topic'] as const;
export type Layout = (typeof LAYOUTS)[number];

function u64(n: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(n));
  return bytes;
}

const END = u64(2n ** 64n - 1n);

export interface EngineOptions {
  readonly port?: number;
  readonly replayPort?: number;
  readonly layout?: Layout;
  readonly life?: number;
  readonly topic?: string;
  /** How many messages it can replay. */
  readonly buffered?: number;
}

/** What an engine has to offer on its sockets: message n is `batch(n, life)`. */
export class Engine {
  readonly #publisher = new Publisher({ linger: 0 });
  readonly #router = new Router({ linger: 0 });
  readonly #options: Required<EngineOptions>;
  #next = 0;
  /** Where replays were asked from. */
  readonly asked: number[] = [];
  #isStopping = false;
  isAnswering = true;
  endpoint = '';
  replayEndpoint = '';

  private constructor(options: Required<EngineOptions>) {
    this.#options = options;
  }

  static async start(options: EngineOptions = {}): Promise<Engine> {
    const full = {
      port: 0,
      replayPort: 0,
      layout: LAYOUTS[0],
      life: 0,
      topic: '',
      buffered: 10_000,
      ...options,
    };
    const engine = new Engine(full);
    try {
      await engine.#publisher.bind(address(full.port));
      await engine.#router.bind(address(full.replayPort));
    } catch (error) {
      engine.#publisher.close();
      engine.#router.close();
      throw error;
    }
    engine.endpoint = engine.#publisher.lastEndpoint!;
    engine.replayEndpoint = engine.#router.lastEndpoint!;
    onTestFinished(() => engine.stop());
    engine.#answer().catch((error) => {
      // Meanwhile its sockets are busy.
      if (!engine.#isStopping) throw error;
    });
    return engine;
  }

  get ports(): { readonly port: number; readonly replayPort: number } {
    return { port: portOf(this.endpoint), replayPort: portOf(this.replayEndpoint) };
  }

  /** Publishes `count` messages, of which those in `lost` do not arrive. */
  async publish(count: number, lost: readonly number[] = []): Promise<void> {
    for (let i = 0; i < count; i++) {
      const sequence = this.#next++;
      if (lost.includes(sequence)) continue;
      await this.send([this.#options.topic, u64(sequence), batch(sequence, this.#options.life)]);
    }
  }

  send(frames: (string | Uint8Array)[]): Promise<void> {
    return this.#publisher.send(frames);
  }

  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    await Promise.all([closeBound(this.#publisher), closeBound(this.#router)]);
  }

  async #answer(): Promise<void> {
    for await (const [identity, delimiter, start, ...rest] of this.#router) {
      expect([delimiter?.length, start?.length, rest.length]).toEqual([0, 8, 0]);
      const from = Number(start!.readBigUInt64BE());
      this.asked.push(from);
      if (!this.isAnswering) continue;
      const { layout, topic, life, buffered } = this.#options;
      const head = layout === 'with topic' ? [identity!, '', topic] : [identity!, ''];
      for (let n = Math.max(from, this.#next - buffered); n < this.#next; n++) {
        await this.#router.send([...head, u64(n), batch(n, life)]);
      }
      await this.#router.send([...head, END, 'whatever']);
    }
  }
}

function address(port: number): string {
  return `tcp://127.0.0.1:${port === 0 ? '*' : port}`;
}

function portOf(endpoint: string): number {
  return Number(endpoint.split(':').at(-1));
}

export class NotingSinks {
  readonly #sinks = new Map<string, NotingSink>();

  sink(worker: string, dpRank: number): NotingSink {
    const key = `${worker}/${dpRank}`;
    let sink = this.#sinks.get(key);
    if (sink === undefined) {
      sink = new NotingSink();
      this.#sinks.set(key, sink);
    }
    return sink;
  }
}

export interface Opened {
  readonly subscriber: ZmqSubscriber;
  readonly sinks: NotingSinks;
  readonly errors: Error[];
}

export async function open(options: ZmqSubscriberOptions = {}): Promise<Opened> {
  const sinks = new NotingSinks();
  const errors: Error[] = [];
  const subscriber = await ZmqSubscriber.open(sinks, {
    idleProbeMs: 20,
    onError: (error) => errors.push(error),
    ...options,
  });
  onTestFinished(() => subscriber.close());
  return { subscriber, sinks, errors };
}

/** Waits, within bounds, until something holds. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  const end = performance.now() + 20_000;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`it took too long until ${what}`);
    await sleep(2);
  }
}

/** Waits until all streams are connected and have seen the messages below `next` (a number for each), degraded or not. */
export async function caughtUp({ subscriber }: Opened, ...nexts: number[]): Promise<void> {
  const isThere = () =>
    subscriber.status().every(({ connected, next }, i) => connected && next === (nexts[i] ?? nexts[0]));
  await until(`the streams are at ${nexts}: ${JSON.stringify(subscriber.status())}`, isThere);
}
