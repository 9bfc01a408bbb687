import { KvidxError } from '../../errors.js';
import { counted } from '../../text.js';
import { BloomFilter } from '../bloom-filter.js';
import { badFrame } from '../frame.js';
import type { ClearFrame, Degraded, DeltaFrame, FullFrame, Sketch, SketchFrame } from '../types.js';
import { BLOCK_BYTES, WORDS_A_BLOCK } from '../words.js';

/** `old`: of the past, nothing changed. `gap`: frames before it are missing, nothing changed. */
export type Verdict = 'applied' | 'old' | 'gap';

export interface SketchStateOptions {
  readonly worker: string;
  readonly yieldAfterMs: number;
  /** May the filter grow by so many bytes? */
  readonly hasRoom: (bytes: number) => boolean;
}

interface Position {
  readonly epoch: number;
  readonly sequence: number;
}

/** The furthest frame that was seen and could not be applied. */
interface Missed extends Position {
  readonly reason: 'gap' | 'capacity';
  readonly atMs: number;
}

/**
 * What is known of one worker, from the frames that came, in whatever order.
 *
 *   full, clear   further than the sketch: replaces it           else old
 *   delta         the very next one of its epoch: is written     further: gap, else old
 *
 * Frames come live, through a subscription, or from the store, which may lag behind: what it has is unconfirmed until a frame
 * comes live that is applied, is missed, or is exactly the sketch's position; later frames cannot go unnoticed then.
 * Positions are ordered by epoch, then by sequence. A live frame of a lower epoch marks the sketch: see wish.ts. A sketch that nothing was applied to for `yieldAfterMs` yields to a full or
 * clear frame of a lower epoch, and sees a gap in a delta of one.
 *
 * I1  What is refused, by a verdict or an error, changes the mark `degraded` at most.
 * I2  Within an epoch the sketch never goes back.
 * I3  After each applied frame it is degraded only if a further one was seen, or none came live since the subscription was
 *     last interrupted: in the epoch nothing before it is missing.
 */
export class SketchState {
  degraded: Degraded | undefined = 'empty';
  readonly #options: SketchStateOptions;
  #sketch: Sketch | undefined;
  /**
   * Blocks of the filter that deltas must be of. After a clear frame, which could claim any number, the filter of one block
   * stands for it until a delta brings some.
   */
  #z = 0;
  /** Of the filter that found no room last. */
  #refusedBytes = 0;
  /** Age of the last applied frame, when it was. */
  #ageMs = 0;
  #appliedAtMs = 0;
  #missed: Missed | undefined;
  #isConfirmed = false;

  constructor(options: SketchStateOptions) {
    this.#options = options;
  }

  get sketch(): Sketch | undefined {
    return this.#sketch;
  }

  /** Of the filter. */
  get bytes(): number {
    return this.#sketch?.filter.byteLength ?? 0;
  }

  /** Is there room now for what found none? */
  get wouldFit(): boolean {
    return this.degraded === 'capacity' && this.#options.hasRoom(this.#refusedBytes - this.bytes);
  }

  ageMs(nowMs: number): number | undefined {
    return this.#sketch && this.#ageMs + Math.max(0, nowMs - this.#appliedAtMs);
  }

  /**
   * Takes the filter of a full frame as its own. Live: it came through a subscription that is in force. Throws
   * ERR_KVIDX_BAD_FRAME (of another worker, of a session, a delta of another filter) and ERR_KVIDX_CAPACITY (no room).
   */
  apply(frame: SketchFrame, nowMs: number, isLive: boolean): Verdict {
    this.#checkSource(frame);
    const { epoch, sequence } = this.#sketch ?? {};
    // After one that could not be read, a frame that is here already shows nothing: the other may have been a later one.
    const isExact =
      epoch === frame.epoch &&
      sequence === frame.sequence &&
      this.degraded !== 'bad-frame' &&
      this.degraded !== 'block-size';
    const verdict = frame.kind === 'delta' ? this.#write(frame, nowMs) : this.#replace(frame, nowMs);
    if (isLive && (verdict !== 'old' || isExact)) this.#confirm();
    else if (isLive && frame.epoch < this.#sketch!.epoch) this.#isOvertaken();
    return verdict;
  }

  /** A frame came that cannot be read, or means nothing here. */
  refuse(reason: 'bad-frame' | 'block-size' = 'bad-frame'): void {
    this.unconfirm();
    this.degraded = reason;
  }

  /** Somebody publishes below the sketch, and is heard by nobody: it may be the only one that is left. */
  #isOvertaken(): void {
    if (this.degraded === undefined || this.degraded === 'unconfirmed') this.degraded = 'lower-epoch';
  }

  /** Frames may have been missed until now; none is live that came before. */
  unconfirm(): void {
    this.#isConfirmed = false;
    if (this.degraded === undefined || this.degraded === 'transport')
      this.degraded = this.#missed?.reason ?? (this.#sketch ? 'unconfirmed' : 'empty');
  }

  #confirm(): void {
    this.#isConfirmed = true;
    if (this.degraded === 'unconfirmed' || this.degraded === 'transport')
      this.degraded = this.#missed?.reason;
  }

  #checkSource({ worker, session }: SketchFrame): void {
    if (worker === this.#options.worker && session === undefined) return;
    this.refuse();
    throw badFrame(
      `it is of ${session === undefined ? 'another worker' : 'a session'} on this worker's channel`,
    );
  }

  #replace(frame: FullFrame | ClearFrame, nowMs: number): Verdict {
    if (this.#sketch && !isAfter(frame, this.#sketch) && !this.#yieldsTo(frame, nowMs)) return 'old';
    const z = frame.kind === 'full' ? frame.filter.z : frame.z;
    this.#checkRoom(frame, frame.kind === 'full' ? z : 1, nowMs);
    this.#z = z;
    this.#settle(frame, frame.kind === 'full' ? frame.filter : new BloomFilter(1), nowMs);
    return 'applied';
  }

  #checkRoom(frame: Position, z: number, nowMs: number): void {
    const bytes = BLOCK_BYTES * z;
    if (this.#options.hasRoom(bytes - this.bytes)) return;
    this.#miss(frame, 'capacity', nowMs);
    this.#refusedBytes = bytes;
    const problem = `sketch frame: its filter has ${counted(bytes, 'byte')}, more than maxBytes leaves`;
    throw new KvidxError('ERR_KVIDX_CAPACITY', problem);
  }

  #write(frame: DeltaFrame, nowMs: number): Verdict {
    const sketch = this.#sketch;
    if (!sketch || frame.epoch !== sketch.epoch || frame.sequence !== sketch.sequence + 1) {
      if (sketch && !isAfter(frame, sketch) && !this.#yieldsTo(frame, nowMs)) return 'old';
      this.#miss(frame, 'gap', nowMs);
      return 'gap';
    }
    if (frame.z !== this.#z) {
      this.refuse();
      throw badFrame(`its filter has ${frame.z} blocks, that of its epoch ${this.#z}`);
    }
    const { indices, blocks } = frame;
    const grows = indices.length > 0 && sketch.filter.z !== frame.z;
    if (grows) this.#checkRoom(frame, frame.z, nowMs);
    const filter = grows ? new BloomFilter(frame.z) : sketch.filter;
    const { words } = filter;
    for (let i = 0; i < indices.length; i++) {
      const to = WORDS_A_BLOCK * indices[i]!;
      const from = WORDS_A_BLOCK * i;
      for (let k = 0; k < WORDS_A_BLOCK; k++) words[to + k] = blocks[from + k]!;
    }
    this.#settle(frame, filter, nowMs);
    return 'applied';
  }

  #settle(frame: SketchFrame, filter: BloomFilter, nowMs: number): void {
    const { worker, session, epoch, sequence, timestampMs, keys, targetFpp, blockSize } = frame;
    this.#sketch = { worker, session, epoch, sequence, timestampMs, keys, targetFpp, blockSize, filter };
    this.#ageMs = Math.max(0, nowMs - timestampMs);
    this.#appliedAtMs = nowMs;
    const missed = this.#missed;
    // What was missed so long ago came from a publisher that is gone, or it would have been heard again.
    if (missed && (!isAfter(missed, frame) || nowMs - missed.atMs >= this.#options.yieldAfterMs))
      this.#missed = undefined;
    this.degraded = this.#missed?.reason ?? (this.#isConfirmed ? undefined : 'unconfirmed');
  }

  #miss({ epoch, sequence }: Position, reason: Missed['reason'], atMs: number): void {
    const before = this.#missed;
    const furthest = before ?? this.#sketch;
    if (!furthest || isAfter({ epoch, sequence }, furthest)) {
      // Deltas on a full frame that found no room are not missing: another full one would find none either.
      const same = reason === 'gap' && before?.epoch === epoch ? before.reason : reason;
      this.#missed = { epoch, sequence, reason: same, atMs };
    }
    this.degraded = this.#missed?.reason ?? reason;
  }

  #yieldsTo({ epoch }: Position, nowMs: number): boolean {
    return epoch < this.#sketch!.epoch && nowMs - this.#appliedAtMs >= this.#options.yieldAfterMs;
  }
}

function isAfter(a: Position, b: Position): boolean {
  return a.epoch > b.epoch || (a.epoch === b.epoch && a.sequence > b.sequence);
}
