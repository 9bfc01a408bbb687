import { invalidArgType } from '../errors.js';
import { seam } from '../native/index.js';
import {
  checkArray,
  checkHash,
  checkHashes,
  checkInteger,
  checkOptions,
  checkOut,
  checkTokens,
} from '../validate.js';
import { type ExtraKeys, flattenExtraKeys } from './extra-keys.js';
import { DEFAULT_BLOCK_SIZE, MAX_BLOCK_SIZE } from './limits.js';
import { type Namespace, namespaceRoot } from './namespace.js';

export { DEFAULT_BLOCK_SIZE, MAX_BLOCK_SIZE };

export interface BlockHasherOptions {
  /** Tokens a block, 1 … 4096; default 24. */
  readonly blockSize?: number;
  /** Default: the empty namespace. */
  readonly namespace?: Namespace;
}

export interface LocalHashesOptions {
  /** Filled and returned instead of a new array; exactly one element a full block. Must not overlap the tokens. */
  readonly out?: BigUint64Array;
  readonly extraKeys?: ExtraKeys;
}

export interface SeqHashesOptions extends LocalHashesOptions {
  /** Seq hash of the block before the first token; default: the namespace's root. */
  readonly parent?: bigint | number;
}

export interface HashManyOptions {
  /** Filled and returned instead of new arrays: one a prompt, of exactly one element a full block; overlapping nothing. */
  readonly outs?: readonly BigUint64Array[];
  /** One element a prompt. */
  readonly extraKeys?: readonly (ExtraKeys | undefined)[];
  /** One element a prompt: seq hash of the block before its first token; undefined: the namespace's root. */
  readonly parents?: readonly (bigint | number | undefined)[];
}

export interface ChainHashesOptions {
  /** Filled and returned instead of a new array; exactly one element a block. Must not overlap the local hashes. */
  readonly out?: BigUint64Array;
  /** Seq hash of the block before the first one; default: the namespace's root. */
  readonly parent?: bigint | number;
}

/**
 * Hashes the full blocks of a prompt; a partial last block is not hashed. Scheme xxh64-v1: XXH64
 * (github.com/Cyan4973/xxHash, doc/xxhash_spec.md) of a block's u32le tokens and u64le extra keys with seed 0 is its
 * local hash; XXH64 of the u64le local hash, with the previous block's seq hash as seed, is its seq hash.
 */
export class BlockHasher {
  readonly #blockSize: number;
  readonly #root: bigint;

  /** Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
  constructor(options?: BlockHasherOptions) {
    const { blockSize = DEFAULT_BLOCK_SIZE, namespace = {} } = checkOptions(options);
    this.#blockSize = checkInteger('blockSize', blockSize, 1, MAX_BLOCK_SIZE);
    this.#root = namespaceRoot(namespace);
  }

  /** Refuses a foreign `this`; every method starts here. */
  static #own(hasher: BlockHasher): BlockHasher {
    if (typeof hasher !== 'object' || hasher === null || !(#root in hasher)) {
      throw invalidArgType('this', 'a BlockHasher', hasher);
    }
    return hasher;
  }

  get blockSize(): number {
    return BlockHasher.#own(this).#blockSize;
  }

  /** Parent of a first block: 0n in the empty namespace. */
  get root(): bigint {
    return BlockHasher.#own(this).#root;
  }

  /**
   * Hash of the whole prefix up to and including each block: `Uint32Array[n] → BigUint64Array[⌊n / blockSize⌋]`.
   * A plain array of token ids is accepted and copied. Throws ERR_KVIDX_INVALID_ARG_TYPE, ERR_KVIDX_OUT_OF_RANGE (a
   * token, an extra key or its block) or ERR_KVIDX_LENGTH_MISMATCH (`out`).
   */
  seqHashes(tokens: Uint32Array | readonly number[], options?: SeqHashesOptions): BigUint64Array {
    const { blockSize, root } = BlockHasher.#own(this);
    const ids = checkTokens(tokens);
    const count = Math.floor(ids.length / blockSize);
    const { out, extraKeys, parent = root } = checkOptions(options);
    const hashes = checkOut(out, BigUint64Array, count);
    const extra = flattenExtraKeys(extraKeys, 0, count);
    seam.seqHashes(ids, blockSize, checkHash(parent, 'parent'), extra, hashes);
    return hashes;
  }

  /**
   * Seq hashes of several prompts, each as `seqHashes` gives them: `Uint32Array[n]` each →
   * `BigUint64Array[⌊n / blockSize⌋]` each, in the same order. Where the machine has AVX-512DQ, prompts of some hundred tokens and
   * more take less time than one by one, since their chains do not wait for each other; those with extra keys do not. Throws
   * as `seqHashes`, and ERR_KVIDX_LENGTH_MISMATCH for an option with more or fewer elements than there are prompts.
   */
  hashMany(
    prompts: readonly (Uint32Array | readonly number[])[],
    options?: HashManyOptions,
  ): BigUint64Array[] {
    const { blockSize, root } = BlockHasher.#own(this);
    const ids = checkArray(prompts, 'prompts').map((tokens, i) => checkTokens(tokens, `prompts[${i}]`));
    const { outs, extraKeys, parents } = checkOptions(options);
    const outsGiven = outs && checkArray(outs, 'outs', ids.length);
    const keysGiven = extraKeys && checkArray(extraKeys, 'extraKeys', ids.length);
    const parentsGiven = parents && checkArray(parents, 'parents', ids.length);
    const counts = ids.map((tokens) => Math.floor(tokens.length / blockSize));
    const hashes = counts.map((count, i) => {
      const out = outsGiven && (outsGiven[i] ?? null); // a hole is no array either
      return checkOut(out, BigUint64Array, count, `outs[${i}]`);
    });
    const extras =
      keysGiven && counts.map((count, i) => flattenExtraKeys(keysGiven[i], 0, count, `extraKeys[${i}]`));
    const starts = new BigUint64Array(ids.length).fill(root);
    parentsGiven?.forEach((parent, i) => {
      if (parent !== undefined) starts[i] = checkHash(parent, `parents[${i}]`);
    });
    seam.seqHashesMany(ids, blockSize, starts, extras, hashes);
    return hashes;
  }

  /**
   * Hash of each block's content alone: `Uint32Array[n] → BigUint64Array[⌊n / blockSize⌋]`. The namespace has no part
   * in it. Accepts and throws as `seqHashes`.
   */
  localHashes(tokens: Uint32Array | readonly number[], options?: LocalHashesOptions): BigUint64Array {
    const { blockSize } = BlockHasher.#own(this);
    const ids = checkTokens(tokens);
    const count = Math.floor(ids.length / blockSize);
    const { out, extraKeys } = checkOptions(options);
    const hashes = checkOut(out, BigUint64Array, count);
    seam.localHashes(ids, blockSize, flattenExtraKeys(extraKeys, 0, count), hashes);
    return hashes;
  }

  /**
   * Seq hashes of blocks whose local hashes are known, or of ids that stand for them, as in traces:
   * `BigUint64Array[n] → BigUint64Array[n]`. Throws ERR_KVIDX_INVALID_ARG_TYPE, ERR_KVIDX_OUT_OF_RANGE (`parent`) or
   * ERR_KVIDX_LENGTH_MISMATCH (`out`).
   */
  chainHashes(localHashes: BigUint64Array, options?: ChainHashesOptions): BigUint64Array {
    const { root } = BlockHasher.#own(this);
    const { out, parent = root } = checkOptions(options);
    const locals = checkHashes(localHashes, 'localHashes');
    const hashes = checkOut(out, BigUint64Array, locals.length);
    seam.chainHashes(locals, checkHash(parent, 'parent'), hashes);
    return hashes;
  }
}
