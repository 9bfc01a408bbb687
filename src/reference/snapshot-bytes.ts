/** Little-endian bytes that grow as they are written. */
export class ByteWriter {
  #bytes = new Uint8Array(1024);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  u32(value: number): void {
    const at = this.#reserve(4);
    this.#view.setUint32(at, value, true);
  }

  u64(value: bigint | number): void {
    const at = this.#reserve(8);
    this.#view.setBigUint64(at, BigInt(value), true);
  }

  f64(value: number): void {
    const at = this.#reserve(8);
    this.#view.setFloat64(at, value, true);
  }

  /** Overwrites eight bytes that were written before. */
  setU64(at: number, value: bigint | number): void {
    this.#view.setBigUint64(at, BigInt(value), true);
  }

  /** A view, good until the next write. */
  bytes(from = 0): Uint8Array {
    return this.#bytes.subarray(from, this.#length);
  }

  #reserve(size: number): number {
    const at = this.#length;
    if (at + size > this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#bytes.length);
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    this.#length = at + size;
    return at;
  }
}

/** Thrown by `ByteReader` and by the checks of a snapshot's content; never leaves `decodeSnapshot`. */
export class DamagedSnapshot extends Error {}

export function demand(holds: boolean): asserts holds {
  if (!holds) throw new DamagedSnapshot();
}

/** Little-endian bytes; reading past the end is damage. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get at(): number {
    return this.#at;
  }

  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  u64(): bigint {
    return this.#view.getBigUint64(this.#take(8), true);
  }

  f64(): number {
    return this.#view.getFloat64(this.#take(8), true);
  }

  /** A view of the next `size` bytes. */
  bytes(size: number): Uint8Array {
    const at = this.#take(size);
    return this.#bytes.subarray(at, at + size);
  }

  /** Reads a count of entries of at least `entryBytes` each: more than the rest can hold is damage. */
  count(entryBytes: number): number {
    const count = this.u32();
    if (count * entryBytes > this.remaining) throw new DamagedSnapshot();
    return count;
  }

  #take(size: number): number {
    const at = this.#at;
    if (size > this.remaining) throw new DamagedSnapshot();
    this.#at = at + size;
    return at;
  }
}
