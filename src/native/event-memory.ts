import { APPLIED_LENGTH, EVENT_PLACES, HEAD, HEAD_BYTES, TIER_COUNT } from './seam.js';

/** How many events, hashes and token ids a memory has room for. */
export interface EventRoom {
  readonly events: number;
  readonly hashes: number;
  readonly tokens: number;
}

/** Places in `EventMemory.integers`: constants, as a name that varies would cost more than all else. */
export const PLACE = {
  rank: HEAD.rank / 4,
  events: HEAD.events / 4,
  hashes: HEAD.hashes / 4,
  tokens: HEAD.tokens / 4,
  eventRoom: HEAD.eventRoom / 4,
  hashRoom: HEAD.hashRoom / 4,
  tokenRoom: HEAD.tokenRoom / 4,
  first: HEAD.first / 4,
  end: HEAD.end / 4,
  blockSize: HEAD.blockSize / 4,
} as const;

/** The memory that messages are read into and applied from, and views of its parts: see HEAD and EVENT. */
export class EventMemory {
  /** What crosses. */
  readonly bytes: Uint8Array;
  readonly hashes: BigUint64Array;
  readonly rows: Int32Array;
  readonly tokens: Uint32Array;
  readonly slots: Uint32Array;
  readonly applied: Int32Array;
  readonly #floats: Float64Array;
  readonly #root: BigUint64Array;
  /** The i32 of the head, by `place`. */
  readonly integers: Int32Array;

  private constructor(bytes: Uint8Array, { events, hashes, tokens }: EventRoom) {
    const { buffer, byteOffset } = bytes;
    this.bytes = bytes;
    let at = byteOffset + HEAD_BYTES;
    this.hashes = new BigUint64Array(buffer, at, hashes);
    at += 8 * hashes;
    this.rows = new Int32Array(buffer, at, events * EVENT_PLACES);
    at += 4 * events * EVENT_PLACES;
    this.tokens = new Uint32Array(buffer, at, tokens);
    this.slots = new Uint32Array(buffer, byteOffset + HEAD.slots, 2 * TIER_COUNT);
    this.applied = new Int32Array(buffer, byteOffset + HEAD.applied, APPLIED_LENGTH);
    this.#floats = new Float64Array(buffer, byteOffset, 2);
    this.#root = new BigUint64Array(buffer, byteOffset + HEAD.root, 1);
    this.integers = new Int32Array(buffer, byteOffset, HEAD_BYTES / 4);
  }

  static of(room: EventRoom): EventMemory {
    const size = HEAD_BYTES + 8 * room.hashes + 4 * EVENT_PLACES * room.events + 4 * room.tokens;
    const memory = new EventMemory(new Uint8Array(size), room);
    memory.integers[PLACE.eventRoom] = room.events;
    memory.integers[PLACE.hashRoom] = room.hashes;
    memory.integers[PLACE.tokenRoom] = room.tokens;
    return memory;
  }

  /** Views of the memory that `bytes` are. */
  static over(bytes: Uint8Array): EventMemory {
    const head = new Int32Array(bytes.buffer, bytes.byteOffset, HEAD_BYTES / 4);
    return new EventMemory(bytes, {
      events: head[PLACE.eventRoom]!,
      hashes: head[PLACE.hashRoom]!,
      tokens: head[PLACE.tokenRoom]!,
    });
  }

  get time(): number {
    return this.#floats[HEAD.time / 8]!;
  }

  set time(seconds: number) {
    this.#floats[HEAD.time / 8] = seconds;
  }

  get nowMs(): number {
    return this.#floats[HEAD.nowMs / 8]!;
  }

  set nowMs(value: number) {
    this.#floats[HEAD.nowMs / 8] = value;
  }

  get root(): bigint {
    return this.#root[0]!;
  }

  set root(hash: bigint) {
    this.#root[0] = hash;
  }
}
