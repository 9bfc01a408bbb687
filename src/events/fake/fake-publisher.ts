import type { Publisher, Router } from 'zeromq';
import { KvidxError } from '../../errors.js';
import {
  checkBytes,
  checkChoice,
  checkFunction,
  checkInteger,
  checkName,
  checkOptions,
} from '../../validate.js';
import { closeBound, loadZeroMq } from '../zeromq.js';

/** What vLLM's KVEventsConfig has. */
const DEFAULT_BUFFER_STEPS = 10_000;
const DEFAULT_HIGH_WATER_MARK = 100_000;
const MAX_STEPS = 2 ** 24;
const MAX_PORT = 65_535;
const NOTHING = Buffer.alloc(0);
/** Instead of a sequence number: the replay is over. */
const END_MARKER = Buffer.alloc(8, 0xff);

/**
 * How a replay is answered. `vllm-old`: vLLM before #45177, SGLang; `vllm-new`: with the topic, vLLM since then,
 * TensorRT-LLM.
 */
export type ReplayLayout = 'vllm-old' | 'vllm-new';
const REPLAY_LAYOUTS: readonly ReplayLayout[] = ['vllm-old', 'vllm-new'];

export interface FakePublisherOptions {
  /** An address or interface; default `127.0.0.1`. */
  readonly host?: string | undefined;
  /** 0, the default, picks a free one. */
  readonly port?: number | undefined;
  /** 0, the default, picks a free one. */
  readonly replayPort?: number | undefined;
  /** Default `vllm-new`. */
  readonly replayLayout?: ReplayLayout | undefined;
  /** How many of the latest messages can be replayed; default 10,000. */
  readonly bufferSteps?: number | undefined;
  /** Default: the empty one. */
  readonly topic?: string | undefined;
  /** Messages that wait for a slow subscriber; it misses what comes beyond them. Default 100,000. */
  readonly highWaterMark?: number | undefined;
  /** A message that is numbered and can be replayed, but is not sent. */
  readonly drop?: ((sequence: number) => boolean) | undefined;
  /** A message that is sent twice. */
  readonly repeat?: ((sequence: number) => boolean) | undefined;
}

interface Settings {
  readonly topic: Buffer;
  readonly replayLayout: ReplayLayout;
  readonly bufferSteps: number;
  readonly drop: (sequence: number) => boolean;
  readonly repeat: (sequence: number) => boolean;
}

/**
 * The sockets of one rank of an engine: messages of three frames, topic, u64 big-endian sequence number from 0 on and
 * payload, and replays of the latest (vllm/distributed/kv_events.py, ZmqEventPublisher). It never waits for a
 * subscriber. Needs the package `zeromq`.
 */
export class FakePublisher {
  /** Where to subscribe. */
  readonly endpoint: string;
  /** Where to ask for a replay: `['', u64 big-endian number of the first message]`. */
  readonly replayEndpoint: string;
  readonly #publisher: Publisher;
  readonly #router: Router;
  readonly #settings: Settings;
  /** Payload of sequence number s at s mod bufferSteps. */
  readonly #buffer: Uint8Array[] = [];
  #next = 0;
  #sent: Promise<void> = Promise.resolve();
  readonly #answered: Promise<void>;
  #closing: Promise<void> | undefined;

  private constructor(publisher: Publisher, router: Router, settings: Settings) {
    this.#publisher = publisher;
    this.#router = router;
    this.#settings = settings;
    this.endpoint = publisher.lastEndpoint!;
    this.replayEndpoint = router.lastEndpoint!;
    this.#answered = this.#answerReplays().catch((error) => this.#unlessClosing(error));
  }

  /**
   * Rejects with ERR_KVIDX_TRANSPORT (the package does not load, or an address cannot be had),
   * ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE.
   */
  static async bind(options?: FakePublisherOptions): Promise<FakePublisher> {
    const {
      host = '127.0.0.1',
      port = 0,
      replayPort = 0,
      replayLayout = 'vllm-new',
      bufferSteps = DEFAULT_BUFFER_STEPS,
      topic = '',
      highWaterMark = DEFAULT_HIGH_WATER_MARK,
      drop = () => false,
      repeat = () => false,
    } = checkOptions<FakePublisherOptions>(options);
    checkName('host', host);
    const address = tcpAddress(host, checkInteger('port', port, 0, MAX_PORT));
    const replayAddress = tcpAddress(host, checkInteger('replayPort', replayPort, 0, MAX_PORT));
    checkInteger('highWaterMark', highWaterMark, 1, MAX_STEPS);
    const settings: Settings = {
      topic: Buffer.from(topic === '' ? '' : checkName('topic', topic)),
      replayLayout: checkChoice('replayLayout', replayLayout, REPLAY_LAYOUTS),
      bufferSteps: checkInteger('bufferSteps', bufferSteps, 1, MAX_STEPS),
      drop: checkFunction('drop', drop),
      repeat: checkFunction('repeat', repeat),
    };
    const zeromq = await loadZeroMq('FakePublisher');
    const publisher = new zeromq.Publisher({ sendHighWaterMark: highWaterMark, linger: 0 });
    // Without a mark: beyond it a router loses answers, and with them the end of a replay.
    const router = new zeromq.Router({ sendHighWaterMark: 0, linger: 0 });
    try {
      await bindTo(publisher, address, 'to publish');
      await bindTo(router, replayAddress, 'for replays');
    } catch (error) {
      publisher.close();
      router.close();
      throw error;
    }
    return new FakePublisher(publisher, router, settings);
  }

  /** Of the next message. */
  get nextSequence(): number {
    return this.#next;
  }

  /**
   * Sends a payload, which is not copied and must not change, and answers its sequence number. Throws
   * ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_CLOSED.
   */
  publish(payload: Uint8Array): number {
    checkBytes(payload, 'payload');
    if (this.#closing !== undefined) throw new KvidxError('ERR_KVIDX_CLOSED', 'the publisher is closed');
    const { topic, bufferSteps, drop, repeat } = this.#settings;
    const sequence = this.#next++;
    this.#buffer[sequence % bufferSteps] = payload;
    const frames = [topic, sequenceBytes(sequence), payload];
    const copies = drop(sequence) ? 0 : repeat(sequence) ? 2 : 1;
    for (let i = 0; i < copies; i++) {
      // One after the other: a socket takes one message at a time.
      this.#sent = this.#sent
        .then(() => this.#publisher.send(frames))
        .catch((error) => this.#unlessClosing(error));
    }
    return sequence;
  }

  /** Resolves when all that was published has been given to the sockets of the subscribers. */
  flush(): Promise<void> {
    return this.#sent;
  }

  /** Closes the sockets; what subscribers were not sent by then is lost. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([closeBound(this.#publisher), closeBound(this.#router)]);
    await this.#sent;
    await this.#answered;
  }

  async #answerReplays(): Promise<void> {
    for await (const [identity, delimiter, start, ...more] of this.#router) {
      const isRequest = delimiter?.length === 0 && start?.length === 8 && more.length === 0;
      if (isRequest) await this.#replay(identity!, start.readBigUInt64BE());
    }
  }

  /** From the oldest message on that is left, where the one asked for is gone. */
  async #replay(identity: Buffer, start: bigint): Promise<void> {
    const { topic, bufferSteps, replayLayout } = this.#settings;
    const oldest = Math.max(0, this.#next - bufferSteps);
    const kept: [number, Uint8Array][] = [];
    for (let sequence = oldest; sequence < this.#next; sequence++) {
      if (sequence >= start) kept.push([sequence, this.#buffer[sequence % bufferSteps]!]);
    }
    const head = (its: Buffer) =>
      replayLayout === 'vllm-old' ? [identity, NOTHING] : [identity, NOTHING, its];
    for (const [sequence, payload] of kept) {
      await this.#router.send([...head(topic), sequenceBytes(sequence), payload]);
    }
    await this.#router.send([...head(NOTHING), END_MARKER, NOTHING]);
  }

  #unlessClosing(error: unknown): void {
    if (this.#closing === undefined) throw error;
  }
}

async function bindTo(socket: Publisher | Router, address: string, purpose: string): Promise<void> {
  try {
    await socket.bind(address);
  } catch (cause) {
    const message = `cannot bind ${address} ${purpose}: ${(cause as Error).message}`;
    throw new KvidxError('ERR_KVIDX_TRANSPORT', message, { cause });
  }
}

function tcpAddress(host: string, port: number): string {
  return `tcp://${host}:${port === 0 ? '*' : port}`;
}

function sequenceBytes(sequence: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(BigInt(sequence));
  return bytes;
}
