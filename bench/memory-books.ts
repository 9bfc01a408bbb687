import { SLOT_MODE } from '../src/native/seam.js';
import type { BenchAddon } from './backends.js';
import type { Figure, Target } from './figures.js';
import { Fleet, replay } from './fleet.js';
import type { Requests } from './requests.js';

/** Evictions that are remembered where any are. */
const EVICTED = 10_000;
const TURN_BY_TURN = { atMost: 30 };
const BOUNDED = { atMost: 32 };
/** From so many blocks on it is them that cost: what every index has at hand is spread thin enough. */
const ENOUGH_BLOCKS = 30_000;

/** Ways to fill an index with a trace, by name; each enters its figures. */
export const layouts: Record<string, (requests: Requests, books: Books) => Fleet> = {
  'unbounded slots, turn by turn'(requests, books) {
    const fleet = new Fleet(books.addon, requests, SLOT_MODE.plain);
    for (const request of requests.all) fleet.storeNew(request);
    books.enterBlocks(fleet, TURN_BY_TURN);
    books.enterTotal(fleet);
    for (const request of requests.all) fleet.own(request);
    books.enterOwnership(fleet);
    books.enterTotal(fleet, 'with ownership');
    for (const request of requests.all) if (request.session % 2 === 1) fleet.remove(request);
    for (let session = 1; session < requests.sessions; session += 2) fleet.endSession(session);
    books.enterTotal(fleet, 'half of the sessions removed');
    return fleet;
  },
  'bounded slots, whole prompts'(requests, books) {
    const fleet = new Fleet(books.addon, requests);
    for (const request of requests.all) fleet.store(request);
    books.enterBlocks(fleet, BOUNDED);
    books.enterTotal(fleet);
    for (const request of requests.all.slice(-requests.sessions))
      fleet.pin(request, request.seq.subarray(0, fleet.ask(request)));
    books.enterTotal(fleet, 'with pins');
    return fleet;
  },
  'bounded slots with ownership, whole prompts'(requests, books) {
    const fleet = new Fleet(books.addon, requests);
    replay(fleet, requests);
    books.enterTotal(fleet);
    return fleet;
  },
  'bounded slots in a bounded index, whole prompts'(requests, books) {
    const maxBlocks = (requests.capacity * requests.slots) / 2; // fewer than the slots would hold
    const fleet = new Fleet(books.addon, requests, SLOT_MODE.bounded, { maxBlocks });
    for (const request of requests.all) fleet.store(request);
    books.enterBlocks(fleet);
    books.enterTotal(fleet);
    return fleet;
  },
  'bounded slots and a history of evictions, whole prompts'(requests, books) {
    const fleet = new Fleet(books.addon, requests, SLOT_MODE.bounded, { evictedHistory: EVICTED });
    for (const request of requests.all) fleet.store(request);
    books.enterTotal(fleet);
    return fleet;
  },
  'reference counts, whole prompts'(requests, books) {
    const fleet = new Fleet(books.addon, requests, SLOT_MODE.counted);
    for (const request of requests.all) fleet.store(request);
    books.enterBlocks(fleet);
    books.enterTotal(fleet);
    return fleet;
  },
};

/** Figures of one index; made before it, so that all that the allocator gives from then on is the index's. */
export class Books {
  readonly figures: Figure[] = [];
  readonly #layout: string;
  readonly #before: number;

  constructor(
    readonly addon: BenchAddon,
    layout: string,
  ) {
    this.#layout = layout;
    this.#before = addon.allocatedBytes?.() ?? 0;
  }

  /** While nothing is owned. */
  enterBlocks({ index }: Fleet, target?: Target): void {
    const { blocks, runs, usedBytes, reservedBytes } = index.stats();
    this.#enter('blocks', blocks, 'blocks');
    this.#enter('blocks a run', blocks / runs, 'blocks');
    const wanted = blocks >= ENOUGH_BLOCKS ? target : undefined;
    this.#enter('used', usedBytes / blocks, 'bytes/block', wanted);
    this.#enter('reserved', reservedBytes / blocks, 'bytes/block', wanted);
  }

  enterOwnership({ index }: Fleet): void {
    const { blocks, ownershipBytes } = index.stats();
    this.#enter('ownership', ownershipBytes / blocks, 'bytes/block');
  }

  enterTotal({ index }: Fleet, state?: string): void {
    if (this.addon.allocatedBytes === undefined) return;
    const { reservedBytes } = index.stats();
    const allocated = this.addon.allocatedBytes() - this.#before;
    const name = state === undefined ? 'allocator ÷ reserved' : `${state}: allocator ÷ reserved`;
    this.#enter(name, allocated / reservedBytes, 'x', { atLeast: 0.95, atMost: 1.05 });
  }

  #enter(name: string, value: number, unit: string, target?: Target): void {
    const figure = { name: `${this.#layout}: ${name}`, value, unit };
    this.figures.push(target === undefined ? figure : { ...figure, target });
  }
}
