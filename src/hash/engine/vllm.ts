import { invalidArgType, outOfRange } from '../../errors.js';
import type { BlockEncoding } from './block-encoding.js';
import { cbor } from './cbor.js';
import { createXxh3Wide, type Digest, lastU64, sha256 } from './digest.js';
import { MAX_PICKLED_TEXT, pickle } from './pickle.js';

export const VLLM_BLOCK_SIZE = 16;

/** A scheme of vLLM's utils/hashing.py; the seed is what the engine takes without PYTHONHASHSEED, if that is known. */
interface VllmRule {
  readonly encoding: BlockEncoding;
  readonly createDigest: () => Digest | Promise<Digest>;
  readonly seed: string | undefined;
}

const SEED = 'vllm-none-hash';
const RULES = {
  'vllm-sha256': { encoding: pickle, createDigest: () => sha256, seed: SEED },
  'vllm-sha256-cbor': { encoding: cbor, createDigest: () => sha256, seed: SEED },
  'vllm-xxhash': { encoding: pickle, createDigest: createXxh3Wide, seed: undefined },
  'vllm-xxhash-cbor': { encoding: cbor, createDigest: createXxh3Wide, seed: undefined },
} satisfies Record<string, VllmRule>;

export type VllmScheme = keyof typeof RULES;

export interface VllmOptions {
  readonly seed?: string | undefined;
  readonly loraName?: string | undefined;
  readonly cacheSalt?: string | undefined;
}

export interface VllmChain {
  readonly encoding: BlockEncoding;
  readonly digest: Digest;
  /** Digest before a first block: NONE_HASH. */
  readonly root: Uint8Array;
  /** Extra keys of a first block, encoded: the LoRA name, then the cache salt, which no other block has. */
  readonly firstKeys: Uint8Array;
  readonly otherKeys: Uint8Array;
}

export function isVllmScheme(scheme: string): scheme is VllmScheme {
  return Object.hasOwn(RULES, scheme);
}

/** Rejects with ERR_KVIDX_INVALID_ARG_TYPE (a seed that is needed) or ERR_KVIDX_OUT_OF_RANGE (bytes not certain). */
export async function createVllmChain(scheme: VllmScheme, options: VllmOptions): Promise<VllmChain> {
  const rule: VllmRule = RULES[scheme];
  const { seed = rule.seed, loraName, cacheSalt } = options;
  if (seed === undefined) {
    throw invalidArgType(
      `seed of ${scheme}`,
      "the engine's PYTHONHASHSEED, without which it is random",
      seed,
    );
  }
  const { encoding } = rule;
  if (encoding === pickle) checkPicklable({ seed, loraName, cacheSalt });
  const digest = await rule.createDigest();
  const present = (key: string | undefined) => key !== undefined;
  return {
    encoding,
    digest,
    root: digest(encoding.text(seed)),
    firstKeys: encoding.extraKeys([loraName, cacheSalt].filter(present)),
    otherKeys: encoding.extraKeys([loraName].filter(present)),
  };
}

/**
 * `hash_block_tokens` of vLLM's v1/core/kv_cache_utils.py: a block's digest is that of its parent's, its tokens and its
 * extra keys. `Uint32Array[n] → BigUint64Array[⌊n / blockSize⌋]`: the last 8 bytes of each, as in events.
 */
export function vllmHashes(chain: VllmChain, blockSize: number, tokens: Uint32Array): BigUint64Array {
  const { encoding, digest } = chain;
  const hashes = new BigUint64Array(Math.floor(tokens.length / blockSize));
  let parent = chain.root;
  let keys = chain.firstKeys;
  for (let i = 0; i < hashes.length; i++) {
    parent = digest(encoding.block(parent, tokens.subarray(i * blockSize, (i + 1) * blockSize), keys));
    hashes[i] = lastU64(parent);
    keys = chain.otherKeys;
  }
  return hashes;
}

function checkPicklable(options: VllmOptions): void {
  for (const [name, text] of Object.entries(options)) {
    if (text !== undefined && Buffer.byteLength(text, 'utf8') > MAX_PICKLED_TEXT) {
      throw outOfRange(name, `at most ${MAX_PICKLED_TEXT} bytes of UTF-8 where vLLM pickles`, text);
    }
  }
  if (options.loraName !== undefined && options.cacheSalt !== undefined) {
    throw outOfRange('cacheSalt', 'absent beside a loraName where vLLM pickles', options.cacheSalt);
  }
}
