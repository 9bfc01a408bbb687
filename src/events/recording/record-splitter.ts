import { MAX_RECORD_BYTES, RecordProblem } from './format.js';

/**
 * Cuts a stream of bytes into values of msgpack: arrays and maps of up to 15 scalars. Memory: one record of at most
 * MAX_RECORD_BYTES and a chunk; each byte is copied once at most.
 */
export class RecordSplitter {
  #chunks: Buffer[] = [];
  #buffered = 0;
  /** So many bytes the next record has at least. */
  #needed = 1;

  /** The records that are whole by now, aliasing the chunks. Throws RecordProblem. */
  *push(chunk: Buffer): Generator<Buffer> {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    if (this.#buffered < this.#needed) return;
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    let at = 0;
    for (;;) {
      this.#needed = neededBytes(bytes, at);
      if (at + this.#needed > bytes.length) break;
      yield bytes.subarray(at, at + this.#needed);
      at += this.#needed;
    }
    this.#chunks = [bytes.subarray(at)];
    this.#buffered = bytes.length - at;
  }

  /** Bytes of a record that has not come whole. */
  get rest(): number {
    return this.#buffered;
  }
}

/** Bytes after the type byte of the scalars from 0xc0 to 0xdb; of those with a length, the bytes of that. −1: none of them. */
const FIXED_BYTES = [
  0, -1, 0, 0, 1, 2, 4, -1, -1, -1, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, -1, -1, -1, -1, -1, 1, 2, 4,
];

/**
 * The length of the value that begins at `at` if all of it is there, else how much it has at least: more than there is.
 * Throws RecordProblem where no record begins, or one that is too long.
 */
function neededBytes(bytes: Buffer, at: number): number {
  const type = bytes[at];
  if (type === undefined) return 1;
  let items = itemsOf(type);
  let end = at + 1;
  for (; items > 0 && end < bytes.length; items--) {
    end += scalarBytes(bytes, end);
    if (end - at > MAX_RECORD_BYTES)
      throw new RecordProblem(`${end - at} bytes or more; the most is ${MAX_RECORD_BYTES}`);
  }
  // What has not begun has a byte at least.
  return end - at + items;
}

function itemsOf(type: number): number {
  if (type >= 0x80 && type < 0x90) return 2 * (type - 0x80);
  if (type >= 0x90 && type < 0xa0) return type - 0x90;
  throw new RecordProblem('no record begins here');
}

/** As far as they are known: header and length, or those alone where they are not whole. */
function scalarBytes(bytes: Buffer, at: number): number {
  const type = bytes[at]!;
  if (type < 0x80 || type >= 0xe0) return 1;
  if (type >= 0xa0 && type < 0xc0) return 1 + type - 0xa0;
  const fixed = FIXED_BYTES[type - 0xc0] ?? -1;
  if (fixed < 0) throw new RecordProblem('a record holds texts, numbers and bytes, and nothing else');
  const header = 1 + fixed;
  const hasLength = type >= 0xd9 || (type >= 0xc4 && type <= 0xc6);
  if (!hasLength || at + header > bytes.length) return header;
  return header + bytes.readUIntBE(at + 1, fixed);
}
