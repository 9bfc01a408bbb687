import type { Random } from '../property/random.js';

/** A map whose keys may be anything, also one twice. */
export class Pairs {
  constructor(readonly pairs: readonly (readonly [unknown, unknown])[]) {}
}

/** Bytes that go out as they are. */
export class Raw {
  constructor(readonly bytes: Uint8Array) {}
}

/** msgpack of a value, each header and integer of any width that holds it; Numbers that are no integers as float64. */
export function encodeLoosely(value: unknown, random: Random): Uint8Array {
  const out: number[] = [];
  put(out, value, random);
  return Uint8Array.from(out);
}

function put(out: number[], value: unknown, random: Random): void {
  if (value === null || value === undefined) out.push(0xc0);
  else if (typeof value === 'boolean') out.push(value ? 0xc3 : 0xc2);
  else if (typeof value === 'bigint') putInteger(out, value, random);
  else if (typeof value === 'number') {
    if (Number.isInteger(value)) putInteger(out, BigInt(value), random);
    else out.push(0xcb, ...floatBytes(value));
  } else if (typeof value === 'string') {
    const bytes = new TextEncoder().encode(value);
    putHeader(out, bytes.length, { fix: 0xa0, most: 31, long: 0xd9, least: 1 }, random);
    out.push(...bytes);
  } else if (value instanceof Uint8Array) {
    putHeader(out, value.length, { fix: 0, most: -1, long: 0xc4, least: 1 }, random);
    out.push(...value);
  } else if (value instanceof Raw) for (const byte of value.bytes) out.push(byte);
  else if (Array.isArray(value)) {
    putHeader(out, value.length, { fix: 0x90, most: 15, long: 0xdc, least: 2 }, random);
    for (const item of value) put(out, item, random);
  } else {
    const pairs = value instanceof Pairs ? value.pairs : Object.entries(value as object);
    putHeader(out, pairs.length, { fix: 0x80, most: 15, long: 0xde, least: 2 }, random);
    for (const item of pairs.flat()) put(out, item, random);
  }
}

interface HeaderTypes {
  /** The type that holds the length itself, up to `most`. */
  readonly fix: number;
  readonly most: number;
  /** The type whose length has `least` bytes; the next ones have twice as many each. */
  readonly long: number;
  readonly least: number;
}

function putHeader(
  out: number[],
  length: number,
  { fix, most, long, least }: HeaderTypes,
  random: Random,
): void {
  if (length <= most && !random.oneIn(4)) {
    out.push(fix + length);
    return;
  }
  const widths = [1, 2, 4].filter((width) => width >= least && length < 2 ** (8 * width));
  const width = random.oneIn(2) ? widths[0]! : random.oneOf(widths);
  out.push(long + Math.log2(width / least), ...bigEndian(BigInt(length), width));
}

/** The shortest form mostly, unsigned where that does. */
function putInteger(out: number[], value: bigint, random: Random): void {
  if (value >= -32n && value < 128n && !random.oneIn(8)) {
    out.push(Number(value) & 0xff);
    return;
  }
  const forms = [0, 1, 2, 3].flatMap((power) => {
    const bits = 8 << power;
    const isUnsigned = value >= 0n && BigInt.asUintN(bits, value) === value;
    const isSigned = BigInt.asIntN(bits, value) === value;
    return [...(isUnsigned ? [[0xcc + power, power]] : []), ...(isSigned ? [[0xd0 + power, power]] : [])];
  });
  const [type, power] = random.oneIn(4) ? random.oneOf(forms) : forms[0]!;
  out.push(type!, ...bigEndian(value, 1 << power!));
}

function bigEndian(value: bigint, width: number): number[] {
  return Array.from({ length: width }, (_, i) => Number((value >> BigInt(8 * (width - 1 - i))) & 0xffn));
}

function floatBytes(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value);
  return bytes;
}
