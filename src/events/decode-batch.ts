import { Decoder } from '@msgpack/msgpack';
import { KvidxError } from '../errors.js';
import { checkBytes } from '../validate.js';
import { decodeEvent } from './decode-event.js';
import { EventProblem } from './fields.js';
import { MsgpackCursor } from './msgpack-cursor.js';
import type { BadEvent, EventBatch, KvEvent } from './types.js';

/** Its limits need no setting: it gets only what a cursor has walked, which is whole and not deep. */
const decoder = new Decoder({ useBigInt64: true });

/**
 * Events of one message, of vLLM (from the first version with events on), SGLang, TensorRT-LLM's stream or Mooncake's
 * master: msgpack `[time in seconds, [event, …], rank]`, or a map of `ts`, `events` and `data_parallel_rank` or
 * `attn_dp_rank`. Nothing of the answer aliases `payload`; memory is bounded by its length.
 *
 * An event that is wrong is told in `bad`, and the others stand. Throws ERR_KVIDX_BAD_EVENT when the payload is no
 * batch: truncated, followed by other bytes, nested deeper than 32 levels, a list whose header promises more than there
 * is, no time, no list of events; ERR_KVIDX_INVALID_ARG_TYPE.
 */
export function decodeEventBatch(payload: Uint8Array): EventBatch {
  const cursor = new MsgpackCursor(checkBytes(payload, 'payload'));
  const { kind, items } = cursor.open();
  const parts = kind === 'map' ? readMap(cursor, items) : readArray(cursor, kind === 'array' ? items : 0);
  cursor.end();
  const { events } = parts;
  if (events === undefined) throw noBatch('a batch has a time and a list of events');
  return { timestampMs: milliseconds(parts.ts), dpRank: rankOf(parts.rank), ...events };
}

interface Events {
  readonly events: KvEvent[];
  unknown: number;
  readonly bad: BadEvent[];
}

interface Parts {
  ts?: unknown;
  events?: Events | undefined;
  rank?: unknown;
}

function readArray(cursor: MsgpackCursor, items: number): Parts {
  const parts: Parts = {};
  for (let i = 0; i < items; i++) {
    if (i === 0) parts.ts = decodeItem(cursor.next());
    else if (i === 1) parts.events = readEvents(cursor);
    else if (i === 2) parts.rank = decodeItem(cursor.next());
    else cursor.next();
  }
  return parts;
}

function readMap(cursor: MsgpackCursor, items: number): Parts {
  const parts: Parts = {};
  for (let i = 0; i < items; i += 2) {
    const name = decodeItem(cursor.next());
    if (name === 'ts') parts.ts = decodeItem(cursor.next());
    else if (name === 'events') parts.events = readEvents(cursor);
    else if (name === 'data_parallel_rank' || name === 'attn_dp_rank') parts.rank = decodeItem(cursor.next());
    else cursor.next();
  }
  return parts;
}

function readEvents(cursor: MsgpackCursor): Events {
  const { kind, items } = cursor.open();
  if (kind !== 'array') throw noBatch('the events of a batch are a list');
  const read: Events = { events: [], unknown: 0, bad: [] };
  for (let index = 0; index < items; index++) {
    const bytes = cursor.next();
    try {
      const event = decodeEventBytes(bytes);
      if (event === undefined) read.unknown++;
      else read.events.push(event);
    } catch (error) {
      if (!(error instanceof EventProblem)) throw error;
      read.bad.push({ index, problem: error.message });
    }
  }
  return read;
}

/** One event of a batch. Undefined: its tag is not known. Throws EventProblem. */
export function decodeEventBytes(bytes: Uint8Array): KvEvent | undefined {
  return decodeEvent(readEvent(bytes));
}

/** The decoder refuses what a cursor does not look at: keys of maps that are no text, dates of a wrong length. */
function readEvent(bytes: Uint8Array): unknown {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw new EventProblem(`its msgpack cannot be read: ${(error as Error).message}`);
  }
}

function decodeItem(bytes: Uint8Array): unknown {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw noBatch('its msgpack cannot be read', { cause: error });
  }
}

function milliseconds(seconds: unknown): number {
  const ms = (typeof seconds === 'bigint' ? Number(seconds) : (seconds as number)) * 1000;
  if ((typeof seconds !== 'number' && typeof seconds !== 'bigint') || !Number.isFinite(ms)) {
    throw noBatch('the time of a batch is a number of seconds');
  }
  return ms;
}

/** A rank that cannot be read is not taken for none: the events would be told of another one. */
function rankOf(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  const rank = Number(value);
  if ((typeof value !== 'number' && typeof value !== 'bigint') || !Number.isSafeInteger(rank) || rank < 0) {
    throw noBatch('the rank of a batch is an integer, 0 or more');
  }
  return rank;
}

function noBatch(why: string, options?: ErrorOptions): KvidxError {
  return new KvidxError('ERR_KVIDX_BAD_EVENT', `no batch of KV events: ${why}`, options);
}
