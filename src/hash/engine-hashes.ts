import { outOfRange } from '../errors.js';
import { checkChoice, checkInteger, checkName, checkOptions, checkTokens } from '../validate.js';
import { createDynamoHashes } from './engine/dynamo.js';
import { sglangHashes, sglangRoot } from './engine/sglang.js';
import {
  createVllmChain,
  isVllmScheme,
  VLLM_BLOCK_SIZE,
  type VllmScheme,
  vllmHashes,
} from './engine/vllm.js';
import type { ExtraKeys } from './extra-keys.js';
import { MAX_BLOCK_SIZE } from './limits.js';

/**
 * vLLM's schemes by the names of its `--prefix-caching-hash-algo`: `sha256` (its default) and `xxhash` pickle a block,
 * `sha256_cbor` and `xxhash_cbor` write it as CBOR. `dynamo` is the seq hash of NVIDIA Dynamo's router.
 */
export type EngineHashScheme = VllmScheme | 'sglang' | 'dynamo';

export interface EngineHasherOptions {
  /** Tokens a block, 1 … 4096, as the engine has it. vLLM: default 16; `sglang` (its page size), `dynamo`: required. */
  readonly blockSize?: number | undefined;
  /**
   * vLLM: its environment's PYTHONHASHSEED. Default of `vllm-sha256` and `vllm-sha256-cbor`: `vllm-none-hash`, what
   * vLLM takes since August 2026 where the variable is unset; earlier ones then start from random bytes, and no hash
   * can be known. So do all with xxhash: required there.
   */
  readonly seed?: string | undefined;
  /** vLLM and `dynamo`: the LoRA adapter of the prompt. */
  readonly loraName?: string | undefined;
  /** vLLM and `sglang`: the cache salt of the prompt. */
  readonly cacheSalt?: string | undefined;
  /** `dynamo`: the cache namespace of the prompt. */
  readonly cacheNamespace?: string | undefined;
}

export interface EngineHasher {
  readonly scheme: EngineHashScheme;
  readonly blockSize: number;
  /**
   * The hash of each full block as the engine's events name it: `Uint32Array[n] → BigUint64Array[⌊n / blockSize⌋]`.
   * vLLM: the last 8 bytes of the block's digest, big-endian. SGLang: the first 8; its events say them signed, here
   * they are u64, two's complement. Dynamo: its router's seq hash. A plain array of token ids is accepted and copied.
   * `items`, only of `dynamo`: the hashes of the multimodal items of blocks, as its own events have them.
   * Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE (a token, an item, or items of another scheme).
   */
  hashes(tokens: Uint32Array | readonly number[], items?: ExtraKeys): BigUint64Array;
}

type Hashes = (tokens: Uint32Array, items: ExtraKeys | undefined) => BigUint64Array;
type Option = keyof EngineHasherOptions;

const VLLM_OPTIONS: readonly Option[] = ['blockSize', 'seed', 'loraName', 'cacheSalt'];
const OPTIONS: Readonly<Record<EngineHashScheme, readonly Option[]>> = {
  'vllm-sha256': VLLM_OPTIONS,
  'vllm-sha256-cbor': VLLM_OPTIONS,
  'vllm-xxhash': VLLM_OPTIONS,
  'vllm-xxhash-cbor': VLLM_OPTIONS,
  sglang: ['blockSize', 'cacheSalt'],
  dynamo: ['blockSize', 'loraName', 'cacheNamespace'],
};
const SCHEMES = Object.keys(OPTIONS) as EngineHashScheme[];

/**
 * What an engine calls the blocks of prompts without prompt embeddings and (but for Dynamo) without images, for who matches
 * its events by hash alone. A hasher is for one LoRA adapter, salt and namespace; those of xxhash and Dynamo hold WebAssembly memory: keep
 * them. Hybrid models of vLLM whose groups have other block sizes, EAGLE pairs of SGLang and its LoRA adapters are not
 * covered. Rejects with ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE: also an option that the scheme has not,
 * and where vLLM pickles, a text above 255 bytes or a LoRA name and a salt at once, whose bytes are not certain.
 */
export async function createEngineHasher(
  scheme: EngineHashScheme,
  options?: EngineHasherOptions,
): Promise<EngineHasher> {
  checkChoice('scheme', scheme, SCHEMES);
  const checked: EngineHasherOptions = checkOptions(options);
  checkOptionNames(scheme, checked);
  const { blockSize = isVllmScheme(scheme) ? VLLM_BLOCK_SIZE : undefined } = checked;
  const size = checkInteger(`blockSize of ${scheme}`, blockSize, 1, MAX_BLOCK_SIZE);
  const hashes = await createHashes(scheme, size, checked);
  return {
    scheme,
    blockSize: size,
    hashes(tokens, items) {
      if (items !== undefined && scheme !== 'dynamo')
        throw outOfRange('items', `omitted for ${scheme}`, items);
      return hashes(checkTokens(tokens), items);
    },
  };
}

async function createHashes(
  scheme: EngineHashScheme,
  blockSize: number,
  options: EngineHasherOptions,
): Promise<Hashes> {
  const loraName = checkText('loraName', options.loraName);
  const cacheSalt = checkText('cacheSalt', options.cacheSalt);
  if (isVllmScheme(scheme)) {
    const seed = checkText('seed', options.seed);
    const chain = await createVllmChain(scheme, { seed, loraName, cacheSalt });
    return (tokens) => vllmHashes(chain, blockSize, tokens);
  }
  if (scheme === 'sglang') {
    const root = sglangRoot(cacheSalt);
    return (tokens) => sglangHashes(root, blockSize, tokens);
  }
  const cacheNamespace = checkText('cacheNamespace', options.cacheNamespace);
  const dynamo = await createDynamoHashes(blockSize, { loraName, cacheNamespace });
  return (tokens, items) => dynamo.seqHashes(dynamo.localHashes(tokens, items));
}

/** Refuses what the scheme would ignore: its hashes would be those of another prompt. */
function checkOptionNames(scheme: EngineHashScheme, options: EngineHasherOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && !(OPTIONS[scheme] as readonly string[]).includes(name)) {
      throw outOfRange(`an option of ${scheme}`, `one of ${OPTIONS[scheme].join(', ')}`, name);
    }
  }
}

function checkText(what: string, value: unknown): string | undefined {
  return value === undefined ? undefined : checkName(what, value);
}
