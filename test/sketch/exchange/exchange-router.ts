import { decodeFrame } from '../../../src/sketch/frame.js';
import { SketchSubscriber } from '../../../src/sketch/subscriber.js';
import type { SketchTransport } from '../../../src/sketch/transport/transport.js';
import type { FollowedSketch } from '../../../src/sketch/types.js';
import type { CrankedTransport, Listener } from './cranked-transport.js';

export const YIELD_MS = 60_000;
export const WANT_MS = 1000;

export interface Position {
  readonly epoch: number;
  readonly sequence: number;
}

/** Between the store and one router; in the model, what it had after the step before. */
export class Router {
  readonly subscriber: SketchSubscriber;
  sketch: FollowedSketch;
  nowMs = 0;
  position: Position | undefined;
  #applied = 0;
  appliedAtMs = 0;
  /** The furthest frame that arrived and was not of the past, and when. */
  furthest: (Position & { readonly atMs: number }) | undefined;
  /** Its subscription, and all that arrived through it. */
  listener: Listener | undefined;
  arrived = new Set<string>();

  constructor(store: CrankedTransport) {
    const transport: SketchTransport = {
      publish: (channel, bytes) => store.publish(channel, bytes),
      setLatest: (key, bytes, ttlMs) => store.setLatest(key, bytes, ttlMs),
      getLatest: (key) => store.getLatest(key),
      close: () => store.close(),
      subscribe: async (channel, onMessage, watch) => {
        const onArrival = (bytes: Uint8Array) => {
          this.#arrives(decodeFrame(bytes));
          onMessage(bytes);
        };
        const leave = await store.subscribe(channel, onArrival, watch);
        this.listener = [...store.listeners].find((listener) => listener.onMessage === onArrival);
        this.arrived = new Set();
        return leave;
      },
    };
    this.subscriber = new SketchSubscriber({
      ...{ transport, wantEveryMs: WANT_MS, yieldAfterMs: YIELD_MS },
      now: () => this.nowMs,
    });
    this.sketch = this.subscriber.follow('w');
  }

  rejoin(): void {
    this.sketch.close();
    this.sketch = this.subscriber.follow('w');
    this.position = undefined;
    this.furthest = undefined;
  }

  /** Notes when something was applied. */
  note(): void {
    const { full, delta, clear } = this.subscriber.stats();
    if (full + delta + clear > this.#applied) this.appliedAtMs = this.nowMs;
    this.#applied = full + delta + clear;
    this.position = this.sketch.sketch;
  }

  #arrives({ epoch, sequence }: Position): void {
    this.arrived.add(nameOf({ epoch, sequence }));
    const known = [this.furthest, this.sketch.sketch].filter((position) => position !== undefined);
    if (known.every((position) => isAfter({ epoch, sequence }, position)))
      this.furthest = { epoch, sequence, atMs: this.nowMs };
  }
}

export function isAfter(a: Position, b: Position): boolean {
  return a.epoch > b.epoch || (a.epoch === b.epoch && a.sequence > b.sequence);
}

export function nameOf({ epoch, sequence }: Position): string {
  return `${epoch}.${sequence}`;
}
