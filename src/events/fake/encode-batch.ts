import { Encoder } from '@msgpack/msgpack';
import { checkChoice } from '../../validate.js';
import type { KvEvent } from '../types.js';
import { DIALECTS, type Dialect, type Field, type Layout } from './dialects.js';

const DIALECT_NAMES = Object.keys(DIALECTS) as Dialect[];

const encoder = new Encoder({ useBigInt64: true });
/** A float whatever its value: whole seconds would become an integer, which msgspec never makes of them. */
const floats = new Encoder({ forceIntegerToFloat: true });

const TAGS = { stored: 'BlockStored', removed: 'BlockRemoved', cleared: 'AllBlocksCleared' } as const;

export interface FakeBatch {
  /** When the engine made it, in ms. */
  readonly timestampMs: number;
  /** Data-parallel rank; undefined: nil is sent. */
  readonly dpRank?: number | undefined;
  readonly events: readonly KvEvent[];
}

/**
 * The msgpack payload of one message, byte by byte as the engine writes it: what the dialect has no field for is not told.
 * Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE (the dialect).
 */
export function encodeBatch(dialect: Dialect, { timestampMs, dpRank, events }: FakeBatch): Uint8Array {
  const layout: Layout = DIALECTS[checkChoice('dialect', dialect, DIALECT_NAMES)];
  const list = events.map((event) => eventValue(event, layout));
  const parts = [
    Uint8Array.of(0x90 | layout.batchItems), // a fixarray
    floats.encode(timestampMs / 1000),
    encoder.encode(list),
  ];
  if (layout.batchItems > 2) parts.push(encoder.encode(dpRank));
  return Buffer.concat(parts);
}

function eventValue(event: KvEvent, layout: Layout): unknown {
  switch (event.kind) {
    case 'stored': {
      const appended = layout.appended?.(event);
      const value = write(event, layout.stored, layout);
      return appended === undefined ? value : [...(value as unknown[]), appended];
    }
    case 'removed':
      return write(event, layout.removed, layout);
    case 'cleared':
      return write(event, [], layout);
  }
}

/** An array has all items, nil where there is nothing to tell; a map leaves those with a default out. */
function write<E extends KvEvent>(
  event: E,
  fields: readonly Field<E>[],
  { form, writeName }: Layout,
): unknown {
  if (form === 'array') return [TAGS[event.kind], ...fields.map(({ value }) => value(event, writeName))];
  const map: Record<string, unknown> = { type: TAGS[event.kind] };
  for (const { name, value, hasDefault } of fields) {
    const told = value(event, writeName);
    if (told !== undefined || !hasDefault) map[name] = told;
  }
  return map;
}
