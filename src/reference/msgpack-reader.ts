/** Containers within each other that are not empty. */
export const MAX_DEPTH = 32;
/** Bytes of the value, or of the length that follows, by the types from 0xc4 to 0xdf; those of 0xcc to 0xd3 are integers. */
const WIDTHS = [1, 2, 4, 1, 2, 4, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17, 1, 2, 4, 2, 4, 2, 4];

/** Thrown where something is not usual: caught by who can go on without. */
export const UNUSUAL = new Error('not usual');

/** Reads what is expected where it lies, and throws UNUSUAL where something else comes or the bytes end. */
export class MsgpackReader {
  protected at = 0;
  /** Set to false by an extension type and by a map that is not empty. */
  protected isPlain = true;
  protected readonly view: DataView;

  constructor(protected readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  protected get left(): number {
    return this.bytes.length - this.at;
  }

  protected require(isUsual: boolean): void {
    if (!isUsual) throw UNUSUAL;
  }

  /** Passes `size` bytes and answers where they begin. */
  protected take(size: number): number {
    this.require(size <= this.left);
    this.at += size;
    return this.at - size;
  }

  protected nil(): boolean {
    if (this.bytes[this.at] !== 0xc0) return false;
    this.at++;
    return true;
  }

  /** Passes an item with all in it, of at most `depth` containers within each other. */
  protected pass(depth: number): void {
    const items = this.open();
    this.require(items === 0 || depth > 0);
    for (let i = 0; i < items; i++) this.pass(depth - 1);
  }

  protected array(): number {
    this.require(this.isArrayNext());
    return this.open();
  }

  protected isArrayNext(): boolean {
    const type = this.bytes[this.at]!;
    return (type >= 0x90 && type < 0xa0) || type === 0xdc || type === 0xdd;
  }

  /** Keys and values both count. */
  protected map(): number {
    const type = this.bytes[this.at]!;
    this.require((type >= 0x80 && type < 0x90) || type === 0xde || type === 0xdf);
    return this.open();
  }

  /** Where an ASCII text begins; `at` is its end. */
  protected text(): number {
    const type = this.bytes[this.at]!;
    this.require((type >= 0xa0 && type < 0xc0) || (type >= 0xd9 && type <= 0xdb));
    const header = 1 + (type < 0xc0 ? 0 : WIDTHS[type - 0xc4]!);
    const begin = this.at + header;
    this.open();
    for (let i = begin; i < this.at; i++) this.require(this.bytes[i]! < 0x80);
    return begin;
  }

  protected string(): string {
    let text = '';
    for (let i = this.text(); i < this.at; i++) text += String.fromCharCode(this.bytes[i]!);
    return text;
  }

  protected isBinaryNext(): boolean {
    const type = this.bytes[this.at]!;
    return type >= 0xc4 && type <= 0xc6;
  }

  /** Passes a binary value and answers how long it is. */
  protected binary(): number {
    const begin = this.at + 1 + WIDTHS[this.bytes[this.at]! - 0xc4]!;
    this.open();
    return this.at - begin;
  }

  protected integer(): number | bigint {
    const { view } = this;
    const type = view.getUint8(this.take(1));
    if (type < 0x80) return type;
    if (type >= 0xe0) return type - 0x100;
    this.require(type >= 0xcc && type <= 0xd3);
    const at = this.take(WIDTHS[type - 0xc4]!);
    if (type === 0xcc) return view.getUint8(at);
    if (type === 0xcd) return view.getUint16(at);
    if (type === 0xce) return view.getUint32(at);
    if (type === 0xcf) return view.getBigUint64(at);
    if (type === 0xd0) return view.getInt8(at);
    if (type === 0xd1) return view.getInt16(at);
    return type === 0xd2 ? view.getInt32(at) : view.getBigInt64(at);
  }

  /** From 0 to `most`, which a Number holds exactly. */
  protected natural(most: number): number {
    const value = Number(this.integer());
    this.require(value >= 0 && value <= most);
    return value;
  }

  /** Passes a header, or a whole scalar, which has no items. An item has a byte at least. */
  private open(): number {
    const type = this.bytes[this.take(1)]!;
    if (type < 0x80 || type >= 0xe0) return 0;
    if (type < 0x90) return this.mapOf(type - 0x80);
    if (type < 0xa0) return this.container(type - 0x90);
    if (type < 0xc0) return this.scalar(type - 0xa0);
    this.require(type !== 0xc1);
    if (type < 0xc4) return 0;
    const width = WIDTHS[type - 0xc4]!;
    const isLongExtension = type >= 0xc7 && type <= 0xc9;
    if (isLongExtension || (type >= 0xd4 && type <= 0xd8)) this.isPlain = false;
    if (type > 0xc9 && type < 0xd9) return this.scalar(width);
    const at = this.take(width);
    const { view } = this;
    const length = width === 1 ? view.getUint8(at) : width === 2 ? view.getUint16(at) : view.getUint32(at);
    if (type >= 0xde) return this.mapOf(length);
    return type >= 0xdc ? this.container(length) : this.scalar(length + Number(isLongExtension));
  }

  private scalar(size: number): number {
    this.take(size);
    return 0;
  }

  private mapOf(entries: number): number {
    if (entries > 0) this.isPlain = false;
    return this.container(2 * entries);
  }

  private container(items: number): number {
    this.require(items <= this.left);
    return items;
  }
}
