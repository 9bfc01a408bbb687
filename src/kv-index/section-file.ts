import { seam } from '../native/index.js';

/*
 * Files in named sections:
 *
 *   magic, 8 bytes | section | section | …
 *   section = u64le(payload bytes) | payload | u64le(check)
 *   check   = XXH64(length and payload, seed = check of the section before; 0 for the first)
 *
 * The chained checks tie the sections of one file together: one from another file is damage.
 */

/** Of a kind of file: its magic, the names of its sections in order, and what a damaged one is answered with. */
export interface SectionFormat<Section extends string> {
  readonly magic: string;
  readonly sections: readonly Section[];
  readonly bad: (section: string, problem: string) => Error;
}

export type Payloads<Section extends string> = Readonly<Record<Section, Uint8Array>>;

export function encodeSections<Section extends string>(
  { magic, sections }: SectionFormat<Section>,
  payloads: Payloads<Section>,
): Uint8Array {
  const size = sections.reduce((sum, name) => sum + payloads[name].length + 16, magic.length);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode(magic));
  let at = magic.length;
  let check = 0n;
  for (const name of sections) {
    const payload = payloads[name];
    view.setBigUint64(at, BigInt(payload.length), true);
    bytes.set(payload, at + 8);
    const end = at + 8 + payload.length;
    check = seam.xxh64(bytes.subarray(at, end), check);
    view.setBigUint64(end, check, true);
    at = end + 8;
  }
  return bytes;
}

/** The sections of an undamaged file, as views into `bytes`; else `bad` of the first damaged one is thrown. */
export function decodeSections<Section extends string>(
  { magic, sections, bad }: SectionFormat<Section>,
  bytes: Uint8Array,
): Payloads<Section> {
  if (new TextEncoder().encode(magic).some((byte, i) => bytes[i] !== byte))
    throw bad('magic', 'this is no kvidx snapshot');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const payloads: Partial<Record<Section, Uint8Array>> = {};
  let at = magic.length;
  let check = 0n;
  for (const name of sections) {
    if (at + 16 > bytes.length) throw bad(name, 'the file ends before it');
    const length = view.getBigUint64(at, true);
    if (length > BigInt(bytes.length - at - 16)) throw bad(name, 'it is longer than the file');
    const end = at + 8 + Number(length);
    check = seam.xxh64(bytes.subarray(at, end), check);
    if (view.getBigUint64(end, true) !== check) throw bad(name, 'its checksum does not match');
    payloads[name] = bytes.subarray(at + 8, end);
    at = end + 8;
  }
  if (at !== bytes.length) throw bad('end', `${bytes.length - at} bytes too many`);
  return payloads as Payloads<Section>;
}
