/*
 * What a subscriber publishes when it wants a full frame: u64 (little-endian), the epoch of the sketch that it has, or nothing
 * where it has none. A publisher in a lower epoch, because its clock is behind and the store lost its latest frame, or because
 * a former publisher's clock was ahead, is never heard until it begins a higher one.
 */

export function encodeWish(epoch: number | undefined): Uint8Array {
  if (epoch === undefined) return new Uint8Array(0);
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(epoch), true);
  return bytes;
}

/** Undefined: none, or nothing that can be an epoch. */
export function epochOfWish(bytes: Uint8Array): number | undefined {
  if (bytes.length !== 8) return undefined;
  const epoch = Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true));
  return Number.isSafeInteger(epoch) ? epoch : undefined;
}
