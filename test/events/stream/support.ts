import { EventStream } from '../../../src/events/stream/event-stream.js';
import { checkStreamOptions, type StreamOptions } from '../../../src/events/stream/settings.js';
import type {
  DegradedReason,
  StreamEffect,
  StreamMessage,
  StreamPosition,
  StreamSink,
} from '../../../src/events/stream/types.js';
import { seam } from '../../../src/native/index.js';

/** A batch `[ts, [], n]`: `n` tells batches of one time apart. */
export function payloadOf(time: number, n = 0): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, 0x93cb);
  view.setFloat64(2, time);
  view.setUint16(10, 0x90ce);
  view.setUint32(12, n);
  return bytes;
}

export function checkOf(payload: Uint8Array): bigint {
  return seam.xxh64(payload, 0n);
}

/** Notes what it is told: `0 1 2`, `restarted`, `gap`, `ok`. */
export class NotingSink implements StreamSink {
  readonly notes: (number | string)[] = [];
  readonly messages: StreamMessage[] = [];
  effect: (message: StreamMessage) => StreamEffect = () => ({ isDamaged: false, isCleared: false });

  apply(message: StreamMessage): StreamEffect {
    this.notes.push(message.sequence);
    this.messages.push(message);
    return this.effect(message);
  }

  restarted(): void {
    this.notes.push('restarted');
  }

  degraded(reason: DegradedReason | undefined): void {
    this.notes.push(reason ?? 'ok');
  }

  /** What was noted since the last call. */
  take(): string {
    return this.notes.splice(0).join(' ');
  }
}

export interface Trial {
  readonly sink: NotingSink;
  readonly stream: EventStream;
  /** Where replays were asked from. */
  readonly asked: number[];
}

/** A stream at its beginning, connected; `isReplaying: false`: its engine replays nothing. */
export function trial(
  options: StreamOptions & { readonly resume?: StreamPosition; readonly isReplaying?: boolean } = {},
): Trial {
  const { resume, isReplaying = true, ...rest } = options;
  const sink = new NotingSink();
  const asked: number[] = [];
  const ask = isReplaying ? (from: number) => void asked.push(from) : undefined;
  const stream = new EventStream(sink, checkStreamOptions(rest), ask, resume);
  stream.resumed(0);
  return { sink, stream, asked };
}

/** A stream that has seen the messages below `count` of an engine that began at time `base`, and was told that there are no more. */
export function settledTrial(count: number, options: Parameters<typeof trial>[0] = {}): Trial {
  const made = trial(options);
  made.stream.replayEnded(0);
  for (let n = 0; n < count; n++) made.stream.live(n, batch(n), n);
  made.sink.take();
  made.asked.length = 0;
  return made;
}

/** Message `n` of an engine's life; later lives are of a later time. */
export function batch(n: number, life = 0): Uint8Array {
  return payloadOf(1000 + life * 100_000 + n, n);
}

export function replay(stream: EventStream, sequences: Iterable<number>, life = 0, nowMs = 0): void {
  for (const n of sequences) stream.replayed(n, batch(n, life), nowMs);
  stream.replayEnded(nowMs);
}

export function* range(from: number, to: number): Generator<number> {
  for (let n = from; n < to; n++) yield n;
}
