import { HeldMessages } from '../stream/held-messages.js';
import { Knowledge } from '../stream/knowledge.js';
import { MessageOrder } from '../stream/message-order.js';
import type { DegradedReason, StreamSink } from '../stream/types.js';
import type { RecordedMessage } from './types.js';

/** One stream of a recording. */
export interface RecordedStreamState {
  readonly worker: string;
  readonly dpRank: number;
  readonly messages: number;
  /** Numbers of the first and the last message; of the last one its life's own. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** How often numbers jumped, and how many were left out; before the first message too. */
  readonly gaps: number;
  readonly missing: number;
  /** How often the engine began anew. */
  readonly restarts: number;
  /** Undefined: what the recording tells is what the engine held in the end. */
  readonly degraded: DegradedReason | undefined;
}

/** Hands the messages of a recording to sinks, as a transport would: each stream's gaps and new lives are noticed. */
export class RecordedStreams {
  readonly #sinks: { sink(worker: string, dpRank: number): StreamSink };
  /** By rank and worker. */
  readonly #streams = new Map<string, RecordedStream>();

  constructor(sinks: { sink(worker: string, dpRank: number): StreamSink }) {
    this.#sinks = sinks;
  }

  /** What the sink throws is thrown. */
  apply(message: RecordedMessage): void {
    const { worker, dpRank } = message;
    const key = `${dpRank} ${worker}`;
    let stream = this.#streams.get(key);
    if (stream === undefined) {
      stream = new RecordedStream(message, this.#sinks.sink(worker, dpRank));
      this.#streams.set(key, stream);
    }
    stream.apply(message);
  }

  /** Those that messages came of, in the order of their first ones. */
  states(): RecordedStreamState[] {
    return Array.from(this.#streams.values(), (stream) => stream.state());
  }
}

class RecordedStream {
  readonly #first: RecordedMessage;
  readonly #sink: StreamSink;
  readonly #knowledge = new Knowledge(undefined);
  readonly #order: MessageOrder;
  #messages = 0;
  #gaps = 0;
  #missing = 0;
  #restarts = 0;
  #degraded: DegradedReason | undefined;

  constructor(first: RecordedMessage, sink: StreamSink) {
    this.#first = first;
    this.#sink = sink;
    this.#knowledge.isUnconfirmed = false;
    this.#order = new MessageOrder(sink, this.#knowledge, new HeldMessages(0, 0), undefined);
  }

  apply({ sequence, payload, receivedMs }: RecordedMessage): void {
    const order = this.#order;
    if (sequence < order.next) {
      this.#restarts++;
      order.restart();
    }
    if (sequence > order.next) {
      this.#gaps++;
      this.#missing += sequence - order.next;
      order.passOver(sequence);
    }
    this.#messages++;
    order.apply(sequence, payload, receivedMs, true);
    const reason = this.#knowledge.reason(false, false);
    if (reason !== this.#degraded) this.#sink.degraded(reason);
    this.#degraded = reason;
  }

  state(): RecordedStreamState {
    const { worker, dpRank, sequence } = this.#first;
    return {
      worker,
      dpRank,
      messages: this.#messages,
      firstSequence: sequence,
      lastSequence: this.#order.next - 1,
      gaps: this.#gaps,
      missing: this.#missing,
      restarts: this.#restarts,
      degraded: this.#degraded,
    };
  }
}
