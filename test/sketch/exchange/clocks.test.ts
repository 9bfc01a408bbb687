import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SketchPublisher } from '../../../src/sketch/publisher.js';
import { SketchSubscriber } from '../../../src/sketch/subscriber.js';
import { memoryTransport } from '../../../src/sketch/transport/memory.js';
import type { SketchTransport } from '../../../src/sketch/transport/transport.js';
import { range } from '../../kv-index/support.js';
import { pass, WISHES } from './sides.js';
import { Resident } from './support.js';

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  vi.spyOn(Math, 'random').mockReturnValue(0.9); // wishes go out some ms after their reason
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A publisher of worker w by a clock that is off by so much; what it stores is gone at once. */
function publisherOf(transport: SketchTransport, first: number, offMs: number): SketchPublisher {
  const resident = new Resident(range(first, 500));
  const now = () => Date.now() + offMs;
  return new SketchPublisher({ transport, worker: 'w', resident, now, everyMs: 100, latestTtlMs: 1 });
}

describe('a publisher whose clock is behind that of the one before', () => {
  it('is heard within two wishes, though the store lost the latest frame', async () => {
    const transport = memoryTransport();
    const former = publisherOf(transport, 0, 30_000);
    former.start();
    const subscriber = new SketchSubscriber({ transport, wantEveryMs: 100, yieldAfterMs: 1e9 });
    const sketch = subscriber.follow('w');
    await pass(500);
    expect([sketch.degraded, sketch.leadingBlocks(range(0, 500))]).toEqual([undefined, 500]);

    await former.close();
    await pass(100); // its latest frame is gone from the store
    const present = publisherOf(transport, 1000, 0);
    present.start();
    const marks = new Set<string | undefined>();
    for (let ms = 0; ms < 500; ms++) {
      await pass(1);
      marks.add(sketch.degraded);
    }
    expect(marks).toContain('lower-epoch');
    expect([sketch.degraded, sketch.leadingBlocks(range(1000, 500))]).toEqual([undefined, 500]);
    expect(sketch.sketch!.epoch).toBe(present.stats().epoch);
    expect(present.stats().epoch).toBeGreaterThan(former.stats().epoch);
    await present.close();
    await subscriber.close();
  });

  it('rises to no epoch that another one, from another start, rises to', async () => {
    const epochs = new Set<number>();
    for (const offMs of [0, 1, 2]) {
      const transport = memoryTransport();
      const publisher = publisherOf(transport, 0, offMs);
      publisher.start();
      await pass(50);
      const wish = new Uint8Array(8);
      new DataView(wish.buffer).setBigUint64(0, 5_000_000n, true);
      await transport.publish(WISHES, wish);
      await pass(500);
      expect(publisher.stats().epoch).toBeGreaterThan(5_000_000);
      epochs.add(publisher.stats().epoch);
      await publisher.close();
    }
    expect(epochs.size).toBe(3);
  });

  it.each([
    ['nothing', new Uint8Array(0)],
    ['too little', Uint8Array.of(1, 2, 3)],
    ['too much', new Uint8Array(9).fill(1)],
    ['a number that is no epoch', new Uint8Array(8).fill(0xff)],
    ['its own past', new Uint8Array(8)],
  ])('does not rise by a wish that says %s', async (_, wish) => {
    const transport = memoryTransport();
    const publisher = publisherOf(transport, 0, 0);
    publisher.start();
    await pass(50);
    const { epoch, full } = publisher.stats();
    await transport.publish(WISHES, wish);
    await pass(500);
    expect(publisher.stats()).toMatchObject({ epoch, wanted: 1, full: full + 1 });
    await publisher.close();
  });
});
