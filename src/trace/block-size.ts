import { KvidxError } from '../errors.js';
import { counted, grouped } from '../text.js';

/** `ceil`: a partial last block has an id; `floor`: only full blocks have. */
export type BlockConvention = 'ceil' | 'floor';

export interface BlockSizeVerdict {
  /** Tokens a block. */
  readonly blockSize: number;
  /** `ceil` when the rows fit both alike. */
  readonly convention: BlockConvention;
  readonly inferred: boolean;
  /** Rows whose number of ids is not ⌈input / size⌉ (⌊input / size⌋ by floor). */
  readonly contradictingRows: number;
  readonly firstContradictingLine: number | undefined;
}

/** Sizes that fit all rows seen, `lo` to `hi`; none when lo > hi. */
class Fit {
  lo = 1;
  hi = Number.POSITIVE_INFINITY;
  /** Of the first row that left no size. */
  brokenAt: number | undefined;

  narrow(lo: number, hi: number, line: number): void {
    this.lo = Math.max(this.lo, lo);
    this.hi = Math.min(this.hi, hi);
    if (this.lo > this.hi) this.brokenAt ??= line;
  }

  toString(): string {
    if (this.brokenAt !== undefined)
      return `none (line ${this.brokenAt} fits none that the rows before it allow)`;
    if (this.hi === Number.POSITIVE_INFINITY) return `${this.lo} or more`;
    return this.lo === this.hi ? `${this.lo}` : `${this.lo} to ${this.hi}`;
  }
}

/** Rows that contradict a given size. */
class Contradictions {
  rows = 0;
  firstLine: number | undefined;

  count(line: number): void {
    this.rows += 1;
    this.firstLine ??= line;
  }
}

/**
 * Finds the block size of a trace from its rows, or checks a given one. Streaming: under either convention a row allows
 * one interval of sizes, and intervals are intersected.
 */
export class BlockSizeCheck {
  private rows = 0;
  private readonly fits = { ceil: new Fit(), floor: new Fit() };
  private readonly against = { ceil: new Contradictions(), floor: new Contradictions() };

  constructor(private readonly given?: number) {}

  add(inputLength: number, blocks: number, line: number): void {
    this.rows += 1;
    if (this.given === undefined) {
      const { ceil, floor } = this.fits;
      // blocks = ⌈input / size⌉ ⇔ input / blocks ≤ size < input / (blocks − 1)
      if (blocks > 0 && inputLength > 0) {
        const hi = blocks > 1 ? Math.ceil(inputLength / (blocks - 1)) - 1 : Number.POSITIVE_INFINITY;
        ceil.narrow(Math.ceil(inputLength / blocks), hi, line);
      } else if (blocks !== inputLength) {
        ceil.narrow(1, 0, line); // only no tokens make no blocks, whatever the size
      }
      // blocks = ⌊input / size⌋ ⇔ input / (blocks + 1) < size ≤ input / blocks
      const hi = blocks > 0 ? Math.floor(inputLength / blocks) : Number.POSITIVE_INFINITY;
      floor.narrow(Math.floor(inputLength / (blocks + 1)) + 1, hi, line);
      return;
    }
    if (blocks !== Math.ceil(inputLength / this.given)) this.against.ceil.count(line);
    if (blocks !== Math.floor(inputLength / this.given)) this.against.floor.count(line);
  }

  /**
   * Throws ERR_KVIDX_BAD_TRACE with the candidates when not exactly one size fits every row, or when more than half of
   * the rows contradict the given one.
   */
  verdict(trace: string): BlockSizeVerdict {
    return this.given === undefined ? this.infer(trace) : this.verify(trace, this.given);
  }

  private infer(trace: string): BlockSizeVerdict {
    const { ceil, floor } = this.fits;
    for (const [convention, fit] of [
      ['ceil', ceil],
      ['floor', floor],
    ] as const) {
      if (fit.lo === fit.hi) {
        return {
          blockSize: fit.lo,
          convention,
          inferred: true,
          contradictingRows: 0,
          firstContradictingLine: undefined,
        };
      }
      if (fit.lo < fit.hi) break; // several sizes fit: the other convention must not decide in silence
    }
    throw new KvidxError(
      'ERR_KVIDX_BAD_TRACE',
      `${trace}: not exactly one block size fits every row. Sizes for which ids = ceil(input_length / size): ${ceil}; ` +
        `for which ids = floor(input_length / size): ${floor}. Give the block size (blockSize, on the command line --block-size).`,
    );
  }

  private verify(trace: string, given: number): BlockSizeVerdict {
    const convention = this.against.floor.rows < this.against.ceil.rows ? 'floor' : 'ceil';
    const { rows, firstLine } = this.against[convention];
    if (rows * 2 > this.rows) {
      throw new KvidxError(
        'ERR_KVIDX_BAD_TRACE',
        `${trace}: block size ${given} contradicts ${grouped(rows)} of ${counted(this.rows, 'row')} (first: line ${firstLine}) even by ` +
          `${convention}, the better of ceil and floor. Leave the block size out to have it inferred.`,
      );
    }
    return {
      blockSize: given,
      convention,
      inferred: false,
      contradictingRows: rows,
      firstContradictingLine: firstLine,
    };
  }
}
