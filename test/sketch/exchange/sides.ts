import { vi } from 'vitest';
import { encodeFrame } from '../../../src/sketch/frame.js';
import { SketchPublisher } from '../../../src/sketch/publisher.js';
import { SketchSubscriber } from '../../../src/sketch/subscriber.js';
import type {
  SketchFrame,
  SketchPublisherOptions,
  SketchSubscriberOptions,
} from '../../../src/sketch/types.js';
import { range } from '../../kv-index/support.js';
import { CrankedTransport } from './cranked-transport.js';
import { full, Resident } from './support.js';

export const KEY = 'kvidx-sketch:w';
export const WISHES = 'kvidx-sketch:w:want';

/** Lets promises settle, and time pass: timers are fake. */
export const pass = (ms = 0) => vi.advanceTimersByTimeAsync(ms);

/** A publisher of 1,000 blocks, and what it told of. */
export function publisherOf(options: Partial<SketchPublisherOptions> = {}) {
  const transport = new CrankedTransport();
  const resident = new Resident(range(0, 1000));
  const errors: unknown[] = [];
  const publisher = new SketchPublisher({
    transport,
    worker: 'w',
    resident,
    onError: (error) => errors.push(error),
    ...options,
  });
  /** `kind epoch.sequence` of all that was published. */
  const sent = () => transport.frames().map(({ kind, epoch, sequence }) => `${kind} ${epoch}.${sequence}`);
  return { transport, resident, errors, publisher, sent };
}

/** A subscriber, what it told of, and ways to feed it. */
export function subscriberOf(options: Partial<SketchSubscriberOptions> = {}) {
  const transport = new CrankedTransport();
  const errors: { error: unknown; worker: string }[] = [];
  const subscriber = new SketchSubscriber({
    transport,
    onError: (error, worker) => errors.push({ error, worker }),
    ...options,
  });
  const send = (...frames: (SketchFrame | Uint8Array)[]) => {
    for (const frame of frames)
      transport.inject(KEY, frame instanceof Uint8Array ? frame : encodeFrame(frame));
  };
  const store = (frame: SketchFrame | Uint8Array) =>
    transport.latest.set(KEY, { bytes: frame instanceof Uint8Array ? frame : encodeFrame(frame), ttlMs: 1 });
  const wishes = () => transport.count(WISHES);
  return { transport, errors, subscriber, send, store, wishes };
}

/** One that follows w and has 5.0, which came live, too. */
export async function following(options: Partial<SketchSubscriberOptions> = {}) {
  const made = subscriberOf(options);
  made.store(full(5, 0));
  const sketch = made.subscriber.follow('w');
  await pass();
  made.send(full(5, 0));
  return { ...made, sketch, at: () => sketch.sketch && `${sketch.sketch.epoch}.${sketch.sketch.sequence}` };
}
