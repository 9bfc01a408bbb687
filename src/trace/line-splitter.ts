/** A line where it lies: `bytes[start, end)`, without its newline. Good until the next one is asked for. */
export interface Line {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** From 1. */
  readonly number: number;
}

/** A line that does not fit into the memory allowed. */
export class LineTooLong extends Error {}

/**
 * Cuts chunks of bytes into lines. Lines within one chunk are not copied; only one that spans chunks is put together
 * in a buffer, which is reused.
 */
export class LineSplitter {
  /** Lines given so far, and so the number of the last one. */
  count = 0;
  private carry = Buffer.alloc(0);
  private carried = 0;

  constructor(private readonly maxLineBytes: number) {}

  /** The whole lines that `chunk` completes. Throws LineTooLong. */
  *push(chunk: Buffer): Generator<Line> {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      if (this.carried > 0) {
        this.keep(chunk.subarray(0, end));
        yield this.takeCarried();
      } else {
        this.checkLength(end - start);
        yield { bytes: chunk, start, end, number: ++this.count };
      }
      start = end + 1;
    }
    if (start < chunk.length) this.keep(chunk.subarray(start));
  }

  /** The last line, where no newline ends it. */
  *flush(): Generator<Line> {
    if (this.carried > 0) yield this.takeCarried();
  }

  private takeCarried(): Line {
    const end = this.carried;
    this.carried = 0;
    return { bytes: this.carry, start: 0, end, number: ++this.count };
  }

  private keep(part: Buffer): void {
    const length = this.carried + part.length;
    this.checkLength(length);
    if (length > this.carry.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, Math.min(2 * this.carry.length, this.maxLineBytes)));
      this.carry.copy(larger, 0, 0, this.carried);
      this.carry = larger;
    }
    part.copy(this.carry, this.carried);
    this.carried = length;
  }

  private checkLength(length: number): void {
    if (length > this.maxLineBytes)
      throw new LineTooLong(`the line is longer than ${this.maxLineBytes} bytes`);
  }
}
