import { seam } from '../../native/index.js';
import { BATCH, BATCH_PLACES, EVENT, EVENT_PLACES, type EventColumns } from '../../native/seam.js';
import { Words } from './words.js';

/** Columns are made for so many, and grow as messages need it. */
const FIRST_ROOM = 1024;

/** A message in columns, until the next one is read. */
export interface ReadBatch {
  readonly payload: Uint8Array;
  readonly timestampMs: number;
  /** Undefined: not told. */
  readonly dpRank: number | undefined;
  readonly events: number;
  readonly columns: EventColumns;
}

/**
 * Reads messages into columns that are used again for each. They grow with the largest message, to which they stay in
 * proportion: at most a token id and a hash a byte.
 */
export class EventReader {
  readonly #batch = new Float64Array(BATCH_PLACES);
  readonly #words = new Words();
  #columns: EventColumns = {
    rows: new Int32Array(EVENT_PLACES * FIRST_ROOM),
    hashes: new BigUint64Array(FIRST_ROOM),
    tokens: new Uint32Array(FIRST_ROOM),
  };

  /** Undefined: only the general decoder reads it, or nobody. */
  read(payload: Uint8Array): ReadBatch | undefined {
    const batch = this.#batch;
    if (!seam.readEvents(payload, this.#columns, batch)) return undefined;
    if (this.#makeRoom()) seam.readEvents(payload, this.#columns, batch);
    const rank = batch[BATCH.rank]!;
    return {
      payload,
      timestampMs: batch[BATCH.time]! * 1000,
      dpRank: rank < 0 ? undefined : rank,
      events: batch[BATCH.events]!,
      columns: this.#columns,
    };
  }

  /** The text of one of the places that end with `…Begin` and `…End`; undefined: none was sent. */
  text(batch: ReadBatch, event: number, begin: number): string | undefined {
    const at = event * EVENT_PLACES + begin;
    const from = batch.columns.rows[at]!;
    const to = batch.columns.rows[at + 1]!;
    return from === to ? undefined : this.#words.read(batch.payload, from, to);
  }

  /** Was some column too short? */
  #makeRoom(): boolean {
    const { rows, hashes, tokens } = this.#columns;
    const [events, names, ids] = [BATCH.events, BATCH.hashes, BATCH.tokens].map(
      (place) => this.#batch[place]!,
    );
    if (events! * EVENT_PLACES <= rows.length && names! <= hashes.length && ids! <= tokens.length)
      return false;
    this.#columns = {
      rows: new Int32Array(roomFor(events! * EVENT_PLACES, rows.length)),
      hashes: new BigUint64Array(roomFor(names!, hashes.length)),
      tokens: new Uint32Array(roomFor(ids!, tokens.length)),
    };
    return true;
  }
}

/** The place of `event` in `rows`. */
export function placeOf(event: number, place: keyof typeof EVENT): number {
  return event * EVENT_PLACES + EVENT[place];
}

function roomFor(needed: number, present: number): number {
  return needed <= present ? present : 2 ** Math.ceil(Math.log2(needed));
}
