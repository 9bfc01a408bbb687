import { expect } from 'vitest';
import { decodeEventBytes } from '../../src/events/decode-batch.js';
import { EventProblem } from '../../src/events/fields.js';
import type { BadEvent, EventBatch, KvEvent } from '../../src/index.js';
import { EventMemory, PLACE } from '../../src/native/event-memory.js';
import { EVENT, EVENT_KIND, EVENT_PLACES, type EventSeam, HEAD_BYTES } from '../../src/native/seam.js';
import { removed, stored } from './build.js';

/** Room in the columns: events, hashes, tokens. */
export interface Room {
  readonly events: number;
  readonly hashes: number;
  readonly tokens: number;
}

export interface Reading extends Pick<EventMemory, 'rows' | 'hashes' | 'tokens'> {
  readonly counts: Room;
  readonly time: number;
  readonly rank: number;
}

const UNTOUCHED = -7;
const MARGIN = 20;

/** What a seam reads of a payload that begins at some odd address; undefined: not usual. Checks that nothing else is written. */
export function readColumns(seam: EventSeam, payload: Uint8Array, room?: Room): Reading | undefined {
  const memory = new Uint8Array(payload.length + 5);
  memory.set(payload, 3);
  // No event, hash or token is shorter than a byte.
  const { events, hashes, tokens } = room ?? {
    events: payload.length,
    hashes: payload.length,
    tokens: payload.length,
  };
  const read = EventMemory.of({ events, hashes, tokens });
  // The parts lie side by side, and this lies beside them.
  const whole = new Uint8Array(read.bytes.length + MARGIN).fill(UNTOUCHED);
  whole.set(read.bytes);
  const into = EventMemory.over(whole);
  for (const part of [into.rows, into.tokens]) part.fill(UNTOUCHED);
  into.hashes.fill(BigInt.asUintN(64, BigInt(UNTOUCHED)));
  const before = into.bytes.slice();
  const isUsual = seam.readEvents(memory.subarray(3, -2), into.bytes);
  if (new Set(whole.subarray(-MARGIN)).size !== 1) expect.fail('wrote outside of its memory');
  if (!isUsual) {
    expect(into.bytes.subarray(0, HEAD_BYTES)).toEqual(before.subarray(0, HEAD_BYTES));
    return undefined;
  }
  const counts = {
    events: into.integers[PLACE.events]!,
    hashes: into.integers[PLACE.hashes]!,
    tokens: into.integers[PLACE.tokens]!,
  };
  return {
    time: into.time,
    rank: into.integers[PLACE.rank]!,
    counts,
    // As far as told: what lies behind may have been written.
    rows: into.rows.subarray(0, counts.events * EVENT_PLACES),
    hashes: into.hashes.subarray(0, counts.hashes),
    tokens: into.tokens.subarray(0, counts.tokens),
  };
}

export function kindsOf({ rows, counts }: Reading): number[] {
  return Array.from({ length: counts.events }, (_, i) => rows[i * EVENT_PLACES + EVENT.kind]!);
}

/** The batch that the columns and the general decoder, for odd events, come to together. */
export function batchOf(payload: Uint8Array, reading: Reading): EventBatch {
  const events: KvEvent[] = [];
  const bad: BadEvent[] = [];
  let unknown = 0;
  for (let index = 0; index < reading.counts.events; index++) {
    try {
      const event = eventAt(payload, reading, index);
      if (event === undefined) unknown++;
      else events.push(event);
    } catch (error) {
      if (!(error instanceof EventProblem)) throw error;
      bad.push({ index, problem: error.message });
    }
  }
  const dpRank = reading.rank === -1 ? undefined : reading.rank;
  return { timestampMs: reading.time * 1000, dpRank, events, unknown, bad };
}

function eventAt(payload: Uint8Array, reading: Reading, index: number): KvEvent | undefined {
  const row = reading.rows.subarray(index * EVENT_PLACES, (index + 1) * EVENT_PLACES);
  const isOdd = row[EVENT.kind] === EVENT_KIND.odd;
  expect([...row.subarray(isOdd ? EVENT.blocks : EVENT.tier)].every((place) => place === UNTOUCHED)).toBe(
    true,
  );
  if (isOdd) return decodeEventBytes(payload.subarray(row[EVENT.begin], row[EVENT.end]));

  const text = (begin: number) => {
    expect(row[begin] === 0 && row[begin + 1] === 0 ? 1 : row[begin + 1]! - row[begin]!).toBeGreaterThan(0);
    return new TextDecoder().decode(payload.subarray(row[begin], row[begin + 1])) || undefined;
  };
  const part = (count: number, at: number) => [row[at]!, row[at]! + row[count]!] as const;
  const blockHashes = reading.hashes.slice(...part(EVENT.blocks, EVENT.hashAt));
  const groupIdx = row[EVENT.group] === -1 ? undefined : row[EVENT.group];
  const medium = text(EVENT.mediumBegin) ?? 'GPU';
  if (row[EVENT.kind] === EVENT_KIND.cleared) return { kind: 'cleared' };
  if (row[EVENT.kind] === EVENT_KIND.removed) return removed({ blockHashes, groupIdx, medium });
  const tokens = reading.tokens.slice(...part(EVENT.tokens, EVENT.tokenAt));
  return stored({
    blockHashes,
    parentHash: row[EVENT.parentAt] === -1 ? undefined : reading.hashes[row[EVENT.parentAt]!],
    tokens: tokens.length === 0 ? undefined : tokens,
    blockSize: row[EVENT.blockSize] || undefined,
    medium,
    groupIdx,
    specKind: text(EVENT.specBegin),
  });
}

/** A batch without what no column tells. */
export function withoutWindows(batch: EventBatch): EventBatch {
  return {
    ...batch,
    events: batch.events.map((event) =>
      event.kind === 'stored' ? { ...event, slidingWindow: undefined } : event,
    ),
  };
}
