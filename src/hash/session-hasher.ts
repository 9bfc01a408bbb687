import { invalidArgType } from '../errors.js';
import { seam } from '../native/index.js';
import { checkInteger, checkOptions, checkTokens } from '../validate.js';
import { BlockHasher, type BlockHasherOptions } from './block-hasher.js';
import { type ExtraKeys, flattenExtraKeys } from './extra-keys.js';

/** Room for the hashes of a first prompt of some 1,500 tokens. */
const FIRST_CAPACITY = 64;

export interface AppendOptions {
  /** By block index counted from the session's first token; only blocks that this call completes. */
  readonly extraKeys?: ExtraKeys;
}

/**
 * Seq hashes of a growing prompt: appending costs only the new blocks, and the hashes equal those of a `BlockHasher`
 * over everything appended. Keeps 8 bytes a block and fewer than `blockSize` tokens.
 */
export class SessionHasher {
  readonly #hasher: BlockHasher;
  #hashes = new BigUint64Array(FIRST_CAPACITY);
  #blocks = 0;
  readonly #tail: Uint32Array;
  #tailLength = 0;

  /** Options as of `BlockHasher`, or a hasher to share its namespace root. */
  constructor(options?: BlockHasherOptions | BlockHasher) {
    this.#hasher = options instanceof BlockHasher ? options : new BlockHasher(options);
    this.#tail = new Uint32Array(this.#hasher.blockSize);
  }

  /** Refuses a foreign `this`; every method starts here. */
  static #own(session: SessionHasher): SessionHasher {
    if (typeof session !== 'object' || session === null || !(#tail in session)) {
      throw invalidArgType('this', 'a SessionHasher', session);
    }
    return session;
  }

  get blockSize(): number {
    return SessionHasher.#own(this).#hasher.blockSize;
  }

  /** Tokens so far, those of a partial last block included. */
  get tokens(): number {
    return SessionHasher.#own(this).#blocks * this.blockSize + this.#tailLength;
  }

  /** Full blocks so far. */
  get blocks(): number {
    return SessionHasher.#own(this).#blocks;
  }

  /** All seq hashes so far: `BigUint64Array[blocks]`, aliased until the next `append` or `truncate`; do not write. */
  get seqHashes(): BigUint64Array {
    return SessionHasher.#own(this).#hashes.subarray(0, this.#blocks);
  }

  /**
   * Takes the next tokens (`Uint32Array[n]`, or a plain array, copied) and answers the seq hashes of the blocks that
   * they complete: `BigUint64Array[⌊(n + tail) / blockSize⌋]`, aliased until the next `append` or `truncate`. Throws
   * ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE (a token, an extra key or its block), state unchanged.
   */
  append(tokens: Uint32Array | readonly number[], options?: AppendOptions): BigUint64Array {
    const { blockSize } = SessionHasher.#own(this);
    const input = this.#afterTail(checkTokens(tokens));
    const first = this.#blocks;
    const count = Math.floor(input.length / blockSize);
    const extra = flattenExtraKeys(checkOptions(options).extraKeys, first, count);
    this.#reserve(first + count);
    const added = this.#hashes.subarray(first, first + count);
    const parent = first === 0 ? this.#hasher.root : this.#hashes[first - 1]!;
    seam.seqHashes(input, blockSize, parent, extra, added);

    const rest = input.subarray(count * blockSize);
    this.#tail.set(rest);
    this.#tailLength = rest.length;
    this.#blocks += count;
    return added;
  }

  /**
   * Forgets everything after the first ⌊tokens / blockSize⌋ blocks, a partial block included, and answers the number
   * of tokens kept: append from there. Throws ERR_KVIDX_OUT_OF_RANGE beyond `tokens`.
   */
  truncate(tokens: number): number {
    const { blockSize } = SessionHasher.#own(this);
    checkInteger('tokens', tokens, 0, this.tokens);
    this.#blocks = Math.floor(tokens / blockSize);
    this.#tailLength = 0;
    return this.#blocks * blockSize;
  }

  #afterTail(tokens: Uint32Array): Uint32Array {
    if (this.#tailLength === 0) return tokens;
    const joined = new Uint32Array(this.#tailLength + tokens.length);
    joined.set(this.#tail.subarray(0, this.#tailLength));
    joined.set(tokens, this.#tailLength);
    return joined;
  }

  #reserve(blocks: number): void {
    if (blocks <= this.#hashes.length) return;
    const grown = new BigUint64Array(Math.max(blocks, this.#hashes.length * 2));
    grown.set(this.#hashes.subarray(0, this.#blocks));
    this.#hashes = grown;
  }
}
