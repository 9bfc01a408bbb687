import { outOfRange } from '../errors.js';
import { KvIndex, type KvIndexOptions, type WorkerHandle } from '../kv-index/index.js';
import type { BloomFilter } from '../sketch/bloom-filter.js';
import type { FollowedSketch } from '../sketch/types.js';
import type { Candidates } from './candidates.js';
import type { Counts } from './policy/policy.js';
import { SketchReader, type SketchSettings } from './sketch-reader.js';
import type { WorkerRecord } from './state/worker-table.js';
import type { Residency, SketchNote } from './types.js';

/** How the index's workers that are fed here are named after the router's; no worker of a router ends so. */
const ESTIMATE = ' (estimate)';
const EXPECTED = ' (expected)';

/** The engine whose published figures this package's defaults come from holds so many tokens. */
const DEFAULT_POOL_TOKENS = 415_000;

export interface EstimateOptions {
  readonly capacity: number | undefined;
  readonly ttlMs: number | undefined;
}

/** Where in the index a worker stands. */
export interface Places {
  /** Slots whose overlaps count: of several the largest does. */
  slots: readonly number[];
  /** Undefined: it has no estimate. */
  estimate: WorkerHandle | undefined;
  /** Beside an estimate or a sketch, prompts of requests that were routed and are not prefilled, counted; undefined: none is kept. */
  expected: WorkerHandle | undefined;
  /** What the worker publishes; undefined: it is not followed. */
  sketch: FollowedSketch | undefined;
  /** Of the estimate. */
  options: EstimateOptions;
}

/** What a worker says that it holds of one session. */
export interface SessionHoldings {
  readonly session: string;
  /** Of blocks that the session alone owns there. */
  readonly filter: BloomFilter;
  /** Leading blocks of a prompt of the session, whoever owns them. */
  readonly resident: BigUint64Array;
  readonly nowMs: number;
}

/** What `unexpect` takes back. */
export interface Expectation {
  readonly places: Places;
  readonly handle: WorkerHandle;
  /** Leading blocks. */
  readonly blocks: number;
}

/** How a worker's residency is known. */
const isEstimated = (residency: Residency) => residency === 'estimate' || residency === 'larger';
const isStored = (residency: Residency) => residency === 'exact' || residency === 'larger';
const isSketched = (residency: Residency) => residency === 'sketch' || residency === 'larger';

/**
 * What the workers of a router hold, in the slots of a `KvIndex`: of each worker an estimate that is fed here, or what
 * others store under the worker's name; or by a sketch that the worker publishes; or all of these.
 */
export class ResidencyView {
  readonly index: KvIndex;
  readonly #expects: boolean;
  readonly #sketches: SketchReader | undefined;
  readonly #workers = new Set<WorkerRecord>();
  #membership = -1;
  /** Outputs of the index, one element a slot. */
  #leading = { out: new Uint32Array(0) };
  #any = { mode: 'set' as const, out: new Uint32Array(0) };
  #exclusive = { maxOwners: 1, out: new Uint32Array(0) };
  #fair = { out: new Float64Array(0) };
  /** One element a worker. */
  #exclusiveWithin = { maxOwners: 1, out: new Uint32Array(0) };
  #fairWithin = { out: new Float64Array(0) };

  /** `expects`: prompts count on their worker from when they are routed. */
  constructor(options: KvIndexOptions, expects: boolean, sketches: SketchSettings | undefined) {
    this.index = new KvIndex(options);
    this.#expects = expects;
    this.#sketches = sketches && new SketchReader(sketches);
  }

  close(): void {
    this.index.close();
    for (const { places } of this.#workers) places.sketch?.close();
  }

  /** Gives the worker the slots that its residency needs; what is omitted of a present estimate stays as it is. */
  join(worker: WorkerRecord, { capacity, ttlMs }: EstimateOptions): void {
    const { options: before } = worker.places;
    const options = { capacity: capacity ?? before.capacity, ttlMs: ttlMs ?? before.ttlMs };
    if (this.#sketches && isSketched(worker.residency))
      worker.places.sketch ??= this.#sketches.follow(worker.name);
    try {
      if (isEstimated(worker.residency)) this.#addEstimate(worker.name, options);
      if (isStored(worker.residency)) this.index.addWorker(worker.name);
    } catch (error) {
      if (!this.#workers.has(worker)) this.#unfollow(worker);
      throw error;
    }
    worker.places.options = options;
    if (this.#workers.has(worker)) return;
    this.#workers.add(worker);
    this.#membership = -1;
  }

  /** The worker lost its cache. What others store under its name is theirs to clear. */
  lost(worker: WorkerRecord): void {
    this.#resolve();
    const { estimate, expected } = worker.places;
    if (estimate) this.index.clear(estimate);
    if (expected) this.index.removeWorker(expected);
  }

  /** Forgets a record; `leaves`: the index forgets what the worker's name holds, too. */
  forget(worker: WorkerRecord, leaves: boolean): void {
    this.#workers.delete(worker);
    this.#unfollow(worker);
    worker.places.estimate = undefined;
    worker.places.expected = undefined;
    if (!leaves) return;
    const names = [worker.name, worker.name + ESTIMATE, worker.name + EXPECTED];
    for (const handle of this.index.workers()) {
      if (names.includes(handle.name)) this.index.removeWorker(handle);
    }
  }

  #unfollow({ places }: WorkerRecord): void {
    places.sketch?.close();
    places.sketch = undefined;
  }

  /** The estimate learns that the worker holds these blocks. */
  record(worker: WorkerRecord, hashes: BigUint64Array, nowMs: number): void {
    this.#resolve();
    const { estimate } = worker.places;
    if (estimate) this.index.store(estimate, hashes, { nowMs });
  }

  /** The worker will hold these blocks: they count until `unexpect`. Undefined: nothing is expected. */
  expect({ places }: WorkerRecord, hashes: BigUint64Array, nowMs: number): Expectation | undefined {
    this.#resolve();
    const { expected } = places;
    if (expected === undefined) return undefined;
    const { rejected } = this.index.store(expected, hashes, { nowMs }); // the tail, where there is no room for all
    return { places, handle: expected, blocks: hashes.length - rejected };
  }

  /** It holds them, or will not. What was expected before a failure or a restore is forgotten already. */
  unexpect({ places, handle, blocks }: Expectation, hashes: BigUint64Array): void {
    if (this.index.closed) return;
    this.#resolve();
    if (places.expected === handle) this.index.remove(handle, hashes.subarray(0, blocks));
  }

  /** The worker uses these blocks again. */
  refresh(worker: WorkerRecord, hashes: BigUint64Array, nowMs: number): void {
    this.#resolve();
    const { estimate } = worker.places;
    if (estimate) this.index.refresh(estimate, hashes, { nowMs });
  }

  /**
   * Of what the session alone owns, the worker holds what the filter has, and it holds the blocks of this prompt that are
   * told resident: its estimate does so afterwards.
   */
  correct({ places }: WorkerRecord, { session, filter, resident, nowMs }: SessionHoldings): void {
    this.#resolve();
    const { estimate } = places;
    if (!estimate) return;
    const hashes = this.index.enumerateExclusive(estimate, session);
    const held = filter.test(hashes);
    const gone = hashes.filter((_, i) => held[i] === 0);
    this.index.remove(estimate, gone);
    this.index.store(estimate, resident, { nowMs });
  }

  /** What the router thinks of the worker's sketch; undefined: it follows none. */
  noteOf(worker: WorkerRecord): SketchNote | undefined {
    return this.#sketches?.note(worker);
  }

  /**
   * Blocks that each of these holds as far as is known: of several ways to know it, the most. Undefined: the index is closed.
   * Walks all workers of the index, once.
   */
  residentBlocks(workers: readonly WorkerRecord[]): number[] | undefined {
    if (this.index.closed) return undefined;
    this.#resolve();
    const bySlot = new Float64Array(this.index.slotCount);
    for (const handle of this.index.workers()) bySlot[handle.slot] = this.index.residentBlocks(handle);
    return workers.map(({ places: { estimate, expected, slots, sketch } }) => {
      let stored = 0;
      for (const slot of slots) {
        if (slot !== estimate?.slot && slot !== expected?.slot) stored += bySlot[slot]!;
      }
      const estimated = estimate ? bySlot[estimate.slot]! : 0;
      return Math.max(stored, estimated, sketch?.sketch?.keys ?? 0);
    });
  }

  /** Fills `overlapBlocks` and `counted` of the workers that stand in these places. */
  measure(
    candidates: Candidates,
    workers: readonly WorkerRecord[],
    hashes: BigUint64Array,
    session: string,
    { overlap, maxOwners }: Counts,
  ): void {
    this.#resolve();
    const { index } = this;
    const leading = index.overlap(hashes, this.#leading);
    const { overlapBlocks, counted } = candidates;
    this.#fill(overlapBlocks, workers, leading);
    // By slot and by sketch: more leading blocks never count less, so that the larger of both counts is that of the larger.
    const sketched = this.#sketches?.leading(workers, hashes);
    if (sketched) raise(overlapBlocks, sketched);
    if (overlap === 'prefix') {
      counted.set(overlapBlocks);
    } else if (overlap === 'set') {
      this.#fill(counted, workers, index.overlap(hashes, this.#any));
      if (sketched) raise(counted, this.#sketches!.anywhere(workers, hashes));
    } else if (overlap === 'exclusive') {
      this.#exclusive.maxOwners = maxOwners;
      this.#fill(counted, workers, index.exclusiveOverlap(session, hashes, this.#exclusive));
      if (!sketched) return;
      this.#fitWithin(sketched.length);
      this.#exclusiveWithin.maxOwners = maxOwners;
      raise(counted, index.exclusiveWithin(session, hashes, sketched, this.#exclusiveWithin));
    } else {
      this.#fill(counted, workers, index.fairOverlap(hashes, this.#fair));
      if (!sketched) return;
      this.#fitWithin(sketched.length);
      raise(counted, index.fairWithin(hashes, sketched, this.#fairWithin));
    }
  }

  #fitWithin(workers: number): void {
    if (this.#fairWithin.out.length === workers) return;
    this.#exclusiveWithin = { maxOwners: 1, out: new Uint32Array(workers) };
    this.#fairWithin = { out: new Float64Array(workers) };
  }

  #fill(column: Float64Array, workers: readonly WorkerRecord[], bySlot: Uint32Array | Float64Array): void {
    for (let place = 0; place < workers.length; place++) {
      let most = 0;
      for (const slot of workers[place]!.places.slots) most = Math.max(most, bySlot[slot]!);
      column[place] = most;
    }
  }

  /** Slots and handles as they are now: workers of the index come and go, and a restore makes all of them new. */
  #resolve(): void {
    const { index } = this;
    if (index.membership === this.#membership) return;
    this.#dropStrangers();
    for (const { name, residency, places } of this.#workers) {
      if (residency === 'exact') continue;
      if (isEstimated(residency)) places.estimate = this.#addEstimate(name, places.options);
      if (this.#expects) places.expected = this.#addExpected(name, places.expected);
    }
    const byName = new Map<string, number[]>();
    for (const { name, slot } of index.workers()) {
      const slots = byName.get(name);
      if (slots) slots.push(slot);
      else byName.set(name, [slot]);
    }
    for (const { name, residency, places } of this.#workers) {
      const { estimate, expected } = places;
      const own = [estimate, expected].flatMap((handle) => (handle ? [handle.slot] : []));
      places.slots = isStored(residency) ? [...own, ...(byName.get(name) ?? [])] : own;
    }
    const { slotCount } = index;
    this.#leading = { out: new Uint32Array(slotCount) };
    this.#any = { mode: 'set', out: new Uint32Array(slotCount) };
    this.#exclusive = { maxOwners: 1, out: new Uint32Array(slotCount) };
    this.#fair = { out: new Float64Array(slotCount) };
    this.#membership = index.membership;
  }

  #addEstimate(name: string, { capacity, ttlMs }: EstimateOptions): WorkerHandle {
    const blocks = capacity ?? Math.max(1, Math.floor(DEFAULT_POOL_TOKENS / this.index.blockSize));
    return this.index.addWorker(name + ESTIMATE, { capacity: blocks, ttlMs });
  }

  /** A restore may bring what another router expected: nobody would take it back here. */
  #dropStrangers(): void {
    const own = new Set(this.#expects ? Array.from(this.#workers, ({ name }) => name + EXPECTED) : []);
    for (const handle of this.index.workers()) {
      if (handle.name.endsWith(EXPECTED) && !own.has(handle.name)) this.index.removeWorker(handle);
    }
  }

  /** What a restore brought was expected by others, and is cleared. */
  #addExpected(name: string, before: WorkerHandle | undefined): WorkerHandle {
    const expected = this.index.addWorker(name + EXPECTED, { referenceCounts: true });
    if (expected !== before) this.index.clear(expected);
    return expected;
  }
}

/** Each place of the column is at least this. */
function raise(column: Float64Array, least: Uint32Array | Float64Array): void {
  for (let place = 0; place < least.length; place++) column[place] = Math.max(column[place]!, least[place]!);
}

export function checkOwnName(name: string): string {
  const suffix = [ESTIMATE, EXPECTED].find((each) => name.endsWith(each));
  if (suffix) throw outOfRange('worker name', `one that does not end in "${suffix}"`, name);
  return name;
}
