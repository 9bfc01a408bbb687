import { EventMemory, PLACE } from '../../native/event-memory.js';
import { seam } from '../../native/index.js';
import { EVENT_PLACES } from '../../native/seam.js';
import { Words } from './words.js';

/** Memory is made for so many of each, and grows as messages need it. */
const FIRST_ROOM = { events: 1024, hashes: 1024, tokens: 16 * 1024 };
/** A message that took more is rare: its memory is given back. */
const KEPT_BYTES = 16 * 2 ** 20;

/**
 * Reads messages into memory that is used again for each. It grows with the message: an event, hash or token id is a byte at
 * least, and takes 60, 8 or 4. What was read stands until the next one is, or until it is released.
 */
export class EventReader {
  readonly #words = new Words();
  #payload = new Uint8Array(0);
  memory = EventMemory.of(FIRST_ROOM);

  /** False: only the general decoder reads it, or nobody. */
  read(payload: Uint8Array): boolean {
    this.#payload = payload as Uint8Array<ArrayBuffer>;
    if (!seam.readEvents(payload, this.memory.bytes)) return false;
    if (this.#makeRoom()) seam.readEvents(payload, this.memory.bytes);
    return true;
  }

  get timestampMs(): number {
    return this.memory.time * 1000;
  }

  /** Undefined: not told. */
  get dpRank(): number | undefined {
    const rank = this.memory.integers[PLACE.rank]!;
    return rank < 0 ? undefined : rank;
  }

  /** The bytes between the offsets that stand at two neighbouring places of `rows`. */
  bytes(at: number): Uint8Array {
    const { rows } = this.memory;
    return this.#payload.subarray(rows[at]!, rows[at + 1]!);
  }

  /** The same as text; undefined: there are none. */
  text(at: number): string | undefined {
    const { rows } = this.memory;
    const begin = rows[at]!;
    const end = rows[at + 1]!;
    return begin === end ? undefined : this.#words.read(this.#payload, begin, end);
  }

  /** What was read is done with. */
  release(): void {
    if (this.memory.bytes.length > KEPT_BYTES) this.memory = EventMemory.of(FIRST_ROOM);
  }

  /** Was there too little? */
  #makeRoom(): boolean {
    const { memory } = this;
    const [events, hashes, tokens] = [
      memory.integers[PLACE.events]!,
      memory.integers[PLACE.hashes]!,
      memory.integers[PLACE.tokens]!,
    ];
    const { rows, hashes: names, tokens: ids } = memory;
    if (events * EVENT_PLACES <= rows.length && hashes <= names.length && tokens <= ids.length) return false;
    this.memory = EventMemory.of({
      events: roomFor(events, rows.length / EVENT_PLACES),
      hashes: roomFor(hashes, names.length),
      tokens: roomFor(tokens, ids.length),
    });
    return true;
  }
}

function roomFor(needed: number, present: number): number {
  return needed <= present ? present : 2 ** Math.ceil(Math.log2(needed));
}
