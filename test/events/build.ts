import { encode } from '@msgpack/msgpack';
import { storedEvent } from '../../src/events/fake/make-event.js';
import type { RemovedEvent, StoredEvent } from '../../src/index.js';

export function hex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'hex'));
}

/** msgpack as msgspec writes it: bigints in 64 bits, numbers in the shortest form. */
export function pack(value: unknown): Uint8Array {
  return encode(value, { useBigInt64: true });
}

/** A batch at 1.5 s of rank 0. */
export function batch(...events: unknown[]): Uint8Array {
  return pack([1.5, events, 0]);
}

export function stored(fields: Partial<StoredEvent>): StoredEvent {
  return storedEvent({ blockHashes: new BigUint64Array(0), ...fields });
}

export function removed(fields: Partial<RemovedEvent>): RemovedEvent {
  return {
    kind: 'removed',
    blockHashes: new BigUint64Array(0),
    medium: 'GPU',
    groupIdx: undefined,
    ...fields,
  };
}

export function hashes(...values: bigint[]): BigUint64Array {
  return BigUint64Array.from(values, (value) => BigInt.asUintN(64, value));
}

export function tokens(...values: number[]): Uint32Array {
  return Uint32Array.from(values);
}
