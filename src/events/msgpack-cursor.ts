import { KvidxError } from '../errors.js';

/*
 * Walks msgpack (github.com/msgpack/msgpack, spec.md) without building values. The decoder takes memory for an array as
 * soon as it reads the header, 8 bytes an item, so that nested headers which promise too much cost the square of the
 * payload or more. Here a header that promises more items than bytes are left is refused before anything is decoded.
 * Cost: some nanoseconds an item.
 */

/** Of one item. Deeper than events of any dialect go (multimodal keys are 4 deep), and no trouble to who recurses. */
const MAX_DEPTH = 32;

/** Bytes after the type byte, of the types from 0xc0 to 0xdf: the value's own, or the length's that follows. */
const FIXED_BYTES = [
  0, -1, 0, 0, 1, 2, 4, 1, 2, 4, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17, 1, 2, 4, 2, 4, 2, 4,
];

/** What an item's header says: containers have items, scalars are passed as a whole. */
export interface Header {
  readonly kind: 'array' | 'map' | 'scalar';
  /** Items to come; keys and values both count. */
  readonly items: number;
}

/** Throws ERR_KVIDX_BAD_EVENT wherever the bytes are no whole msgpack. */
export class MsgpackCursor {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private at = 0;
  /** Items left to pass: the one asked for, then those of each open container from the outermost in. */
  private readonly left = new Float64Array(MAX_DEPTH + 1);

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Passes a header, or a whole scalar. */
  open(): Header {
    const type = this.bytes[this.at];
    if (type === undefined) throw this.truncated();
    const start = this.at++;
    if (type < 0x80 || type >= 0xe0) return SCALAR;
    if (type < 0x90) return this.container('map', 2 * (type - 0x80));
    if (type < 0xa0) return this.container('array', type - 0x90);
    if (type < 0xc0) return this.pass(type - 0xa0);
    const fixed = FIXED_BYTES[type - 0xc0]!;
    if (fixed < 0) throw new KvidxError('ERR_KVIDX_BAD_EVENT', `no msgpack type is 0xc1, at byte ${start}`);
    if (!hasLength(type)) return this.pass(fixed);
    const length = this.length(fixed);
    if (type >= 0xde) return this.container('map', 2 * length);
    if (type >= 0xdc) return this.container('array', length);
    const isExtension = type >= 0xc7 && type <= 0xc9;
    return this.pass(length + Number(isExtension));
  }

  /** The bytes of the next item (a view), which is passed with all that it contains. */
  next(): Uint8Array {
    const start = this.at;
    const { left } = this;
    let depth = 0;
    let open = 0;
    left[0] = 1;
    while (depth >= 0) {
      const { items } = this.open();
      left[depth]!--;
      open += items - Number(depth > 0);
      if (open > this.bytes.length - this.at) throw this.truncated();
      if (items > 0) {
        depth++;
        if (depth > MAX_DEPTH) {
          throw new KvidxError(
            'ERR_KVIDX_BAD_EVENT',
            `nested deeper than ${MAX_DEPTH} levels, at byte ${this.at}`,
          );
        }
        left[depth] = items;
      }
      while (depth >= 0 && left[depth] === 0) depth--;
    }
    return this.bytes.subarray(start, this.at);
  }

  /** Nothing may follow. */
  end(): void {
    const rest = this.bytes.length - this.at;
    if (rest > 0)
      throw new KvidxError('ERR_KVIDX_BAD_EVENT', `${rest} bytes follow the batch, from byte ${this.at} on`);
  }

  private container(kind: 'array' | 'map', items: number): Header {
    if (items > this.bytes.length - this.at) throw this.truncated();
    return { kind, items };
  }

  private pass(bytes: number): Header {
    if (bytes > this.bytes.length - this.at) throw this.truncated();
    this.at += bytes;
    return SCALAR;
  }

  private length(bytes: number): number {
    const { at, view } = this;
    this.pass(bytes);
    if (bytes === 1) return view.getUint8(at);
    return bytes === 2 ? view.getUint16(at) : view.getUint32(at);
  }

  private truncated(): KvidxError {
    return new KvidxError(
      'ERR_KVIDX_BAD_EVENT',
      `truncated: ${this.bytes.length} bytes are fewer than the header before byte ${this.at} asks for`,
    );
  }
}

const SCALAR: Header = { kind: 'scalar', items: 0 };

function hasLength(type: number): boolean {
  return (type >= 0xc4 && type <= 0xc9) || type >= 0xd9;
}
