import { expect, vi } from 'vitest';
import { BloomFilter } from '../../../src/sketch/bloom-filter.js';
import { decodeFrame } from '../../../src/sketch/frame.js';
import { SketchPublisher } from '../../../src/sketch/publisher.js';
import type { SketchPublisherOptions } from '../../../src/sketch/types.js';
import type { Random } from '../../property/random.js';
import { AWAY, CrankedTransport } from './cranked-transport.js';
import { isAfter, nameOf, type Position, Router, WANT_MS, YIELD_MS } from './exchange-router.js';
import { Resident } from './support.js';

const KEY = 'kvidx-sketch:w';
/** A frame that was sent, and what the publisher had then. */
interface Sent {
  readonly filter: BloomFilter;
  readonly keys: number;
  /** The step in which the full frame that it builds on was built. */
  readonly fullStep: number;
}

/**
 * A worker, the lives of its publisher, and routers that follow it, around a store where what arrives, and when, is chosen at
 * random. The model: all that was ever sent, and since when each block is resident. After each step the routers are held to it.
 */
export class ExchangeWorld {
  readonly #random: Random;
  readonly #store = new CrankedTransport();
  readonly #resident = new Resident();
  readonly #routers: Router[];
  readonly #options: SketchPublisherOptions;
  #publisher: SketchPublisher;
  #publisherMs = 0;
  #lives = 0;
  #step = 0;
  #release: (() => void) | undefined;
  /** By `epoch.sequence`. */
  readonly #sent = new Map<string, Sent>();
  #recorded = 0;
  readonly #residentSince = new Map<bigint, number>();

  constructor(random: Random) {
    this.#random = random;
    this.#add(random.oneOf([0, 3, 300]));
    this.#options = {
      ...{ transport: this.#store, worker: 'w', resident: this.#resident },
      headroom: random.oneOf([0, 0.1, 1]),
      fullEvery: random.oneOf([2, 6, 1000]),
      fullEveryMs: random.oneOf([3000, 1e9]),
      now: () => this.#publisherMs,
    };
    this.#publisher = this.#newLife();
    this.#routers = Array.from({ length: random.between(1, 2) }, () => new Router(this.#store));
  }

  // --------------------------------------------------------------------------------------------------------- steps

  /** Something happens, and all that follows from it at once. */
  async step(): Promise<void> {
    this.#step += 1;
    const random = this.#random;
    const { travelling } = this.#store;
    const message = random.below(travelling.length);
    const chance = random.below(100);
    if (chance < 22) this.#change();
    else if (chance < 42) this.#publisher.publish({ full: random.oneIn(8) }).catch(() => {});
    else if (chance < 77) travelling.length > 0 && this.#store.deliver(message, chance < 47);
    else if (chance < 82) this.#store.lose(message);
    else if (chance < 88) await this.#pass(random.between(1, 2 * WANT_MS));
    else if (chance < 90) await this.#restart();
    else if (chance < 92) this.#store.setAway(random.oneIn(2));
    else if (chance < 93) this.#loseAnswers(random.oneIn(2));
    else if (chance < 95) this.#interruptOrResume(random.oneOf(this.#routers));
    else if (chance < 96) random.oneOf(this.#routers).rejoin();
    else if (chance < 97) this.#holdLatest(random.oneIn(2));
    else if (chance < 98) this.#publisherMs = Math.max(0, this.#publisherMs + random.between(-5000, 5000));
    else random.oneOf(this.#routers).nowMs += random.oneOf([10, YIELD_MS]);
    await this.#pass(0);
  }

  /** From now on the store is sound, and all that travels arrives, in whatever order. */
  async heal(): Promise<void> {
    this.#store.setAway(false);
    this.#loseAnswers(false);
    this.#holdLatest(false);
    for (const { listener } of this.#routers) if (listener && !listener.isLive) this.#store.resume(listener);
    await this.#pass(2 * WANT_MS); // who could not subscribe does
    await this.#deliverAll();
  }

  /** A full frame arrives everywhere: each router has what the worker holds, bit for bit. */
  async publishFull(): Promise<void> {
    await this.#publisher.publish({ full: true });
    await this.#deliverAll();
    // Routers that know of a later life of the publisher yield after a while.
    for (const router of this.#routers) router.nowMs += YIELD_MS;
    await this.#publisher.publish({ full: true });
    await this.#deliverAll();
    for (const { sketch } of this.#routers) {
      expect(sketch.sketch).toMatchObject(this.#publisherPosition());
      expect(sketch.sketch!.filter.equals(this.#resident.filter(sketch.sketch!.filter.z))).toBe(true);
      expect(sketch.degraded).toBeUndefined();
    }
  }

  /** Frames as they come, without one being asked for by hand: after a few the routers have all by themselves. */
  async settle(): Promise<void> {
    for (const router of this.#routers) router.nowMs += YIELD_MS;
    for (let frames = 0; frames < 4; frames++) {
      await this.#publisher.publish();
      await this.#deliverAll();
      await this.#pass(2 * WANT_MS); // wishes go out
      await this.#deliverAll();
    }
    for (const { sketch } of this.#routers) {
      expect(sketch.sketch).toMatchObject(this.#publisherPosition());
      expect(sketch.degraded).toBeUndefined();
    }
  }

  async close(): Promise<void> {
    await this.heal();
    await this.#publisher.close();
    for (const { subscriber } of this.#routers) await subscriber.close();
  }

  /** Lets time pass for timers and clocks, and promises settle; then all must be well. */
  async #pass(ms: number): Promise<void> {
    this.#publisherMs += ms;
    for (const router of this.#routers) router.nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
    this.#record();
    this.#check();
  }

  async #deliverAll(): Promise<void> {
    const { travelling } = this.#store;
    while (travelling.length > 0) {
      this.#store.deliver(this.#random.below(travelling.length));
      await this.#pass(0);
    }
  }

  #change(): void {
    const random = this.#random;
    const held = [...this.#resident.held];
    const chance = random.below(10);
    if (chance < 4) this.#add(random.between(1, 4));
    else if (chance < 8) this.#remove([random.oneOf(held), random.oneOf(held)]);
    else if (chance < 9) this.#add(random.between(1, 150));
    else this.#remove(random.oneIn(2) ? held : held.slice(random.below(held.length)));
  }

  #add(count: number): void {
    for (let i = 0; i < count; i++) {
      const hash = (BigInt(this.#random.below(2 ** 32)) << 32n) + BigInt(this.#random.below(2 ** 32));
      this.#resident.held.add(hash);
      this.#residentSince.set(hash, this.#step);
    }
  }

  #remove(hashes: bigint[]): void {
    for (const hash of hashes) {
      this.#resident.held.delete(hash);
      this.#residentSince.delete(hash);
    }
  }

  /** By clocks that go forth and back; no two lives begin in the same epoch, which real ones would do once in an aeon. */
  #newLife(): SketchPublisher {
    this.#lives += 1;
    this.#publisherMs = 100_000 * this.#random.below(1000) + 1000 * this.#lives;
    return new SketchPublisher(this.#options);
  }

  async #restart(): Promise<void> {
    const closing = this.#publisher.close();
    this.#holdLatest(false);
    await this.#pass(0);
    await closing;
    if (this.#random.oneIn(2)) this.#store.latest.clear();
    this.#publisher = this.#newLife();
  }

  #interruptOrResume({ listener }: Router): void {
    if (!listener) return;
    if (listener.isLive) this.#store.interrupt(listener);
    else if (this.#random.oneIn(3)) this.#store.interrupt(listener, AWAY);
    else this.#store.resume(listener);
  }

  #loseAnswers(areLost: boolean): void {
    for (const method of ['publish', 'setLatest'] as const) {
      if (areLost) this.#store.unanswered.add(method);
      else this.#store.unanswered.delete(method);
    }
  }

  #holdLatest(isHeld: boolean): void {
    this.#release?.();
    this.#release = isHeld ? this.#store.hold('getLatest') : undefined;
  }

  // --------------------------------------------------------------------------------------------------------- model

  /** What was sent since; resident blocks have not changed since it was built. */
  #record(): void {
    const { published, latest } = this.#store;
    const stored = latest.get(KEY);
    const bytes = published
      .slice(this.#recorded)
      .filter(({ channel }) => channel === KEY)
      .map((message) => message.bytes);
    this.#recorded = published.length;
    for (const frame of [...bytes, ...(stored ? [stored.bytes] : [])].map((each) => decodeFrame(each))) {
      const { epoch, sequence, kind, keys } = frame;
      const name = nameOf(frame);
      if (this.#sent.has(name)) continue;
      const filter = this.#resident.filter(kind === 'full' ? frame.filter.z : frame.z);
      const fullStep =
        kind === 'delta' ? this.#sent.get(nameOf({ epoch, sequence: sequence - 1 }))!.fullStep : this.#step;
      this.#sent.set(name, { filter, keys, fullStep });
    }
  }

  #publisherPosition(): Position {
    const { epoch, sequence } = this.#publisher.stats();
    return { epoch, sequence };
  }

  #check(): void {
    for (const router of this.#routers) {
      const { sketch, degraded } = router.sketch;
      if (sketch) this.#checkSketch(router);
      else expect([degraded, router.position]).toEqual([expect.any(String), undefined]);
      const { furthest, nowMs } = router;
      if (degraded === undefined && furthest && isAfter(furthest, sketch!)) {
        expect(nowMs - furthest.atMs, 'a gap is marked').toBeGreaterThanOrEqual(YIELD_MS);
      }
      this.#checkCurrent(router);
      router.note();
    }
  }

  /** Unless it says that it may be wrong, it has what the publisher sent last, or that got lost without a word. */
  #checkCurrent({ sketch: { sketch, degraded }, listener, arrived, furthest, nowMs }: Router): void {
    const last = this.#store.published.findLast(({ channel }) => channel === KEY);
    if (degraded !== undefined || !last || !listener) return;
    if (this.#store.travelling.some((message) => message.listener === listener)) return;
    const position = decodeFrame(last.bytes);
    // Of a publisher whose clock went back it hears after a while, and of what it missed long ago it thinks no more.
    if (isAfter(sketch!, position) || (furthest && nowMs - furthest.atMs >= YIELD_MS)) return;
    if (nameOf(sketch!) === nameOf(position)) return;
    const isLost = listener.last === last.bytes && !arrived.has(nameOf(position));
    expect(isLost, `at ${nameOf(sketch!)}, without a mark, when ${nameOf(position)} was sent`).toBe(true);
  }

  #checkSketch({ sketch: { sketch }, position, nowMs, appliedAtMs }: Router): void {
    const sent = this.#sent.get(nameOf(sketch!));
    if (!sent) throw new Error(`nothing was sent at ${nameOf(sketch!)}`);
    // One block stands for an empty filter of any size.
    const isEmpty = sent.keys === 0 && sketch!.filter.equals(new BloomFilter(1));
    const isSame = sketch!.keys === sent.keys && (isEmpty || sketch!.filter.equals(sent.filter));
    if (!isSame) throw new Error(`at ${nameOf(sketch!)} it is not, bit for bit, what the publisher had`);
    if (position && isAfter(position, sketch!)) {
      expect(sketch!.epoch, 'never back within an epoch').toBeLessThan(position.epoch);
      expect(nowMs - appliedAtMs, 'yields after a while only').toBeGreaterThanOrEqual(YIELD_MS);
    }
    if (position && nameOf(position) === nameOf(sketch!)) return; // the same filter, and no block has stayed longer
    const stayed = [...this.#residentSince].flatMap(([hash, since]) =>
      since <= sent.fullStep ? [hash] : [],
    );
    expect(sketch!.filter.countBlocks(BigUint64Array.from(stayed)), 'no false negative').toBe(stayed.length);
  }
}
