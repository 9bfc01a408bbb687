import { type ExtraKeys, flattenExtraKeys } from '../extra-keys.js';
import { createXxh3 } from './digest.js';
import { tokenBytes } from './token-bytes.js';

const SEED = 1337n;
const NO_BYTES = new Uint8Array(0);

export interface DynamoSalt {
  readonly loraName?: string | undefined;
  readonly cacheNamespace?: string | undefined;
}

export interface DynamoHashes {
  /**
   * `Uint32Array[n] → BigUint64Array[⌊n / blockSize⌋]`: XXH3-64 of a block's u32le tokens ‖ u64le hashes of its multimodal
   * items, ascending, seeded by the salt.
   */
  localHashes(tokens: Uint32Array, items?: ExtraKeys): BigUint64Array;
  /** Of a chain's local hashes: its first, then XXH3-64 of u64le previous seq hash ‖ u64le local hash, seed 1337. */
  seqHashes(localHashes: BigUint64Array): BigUint64Array;
}

/** The two hashes of Dynamo's lib/kv-router/src/protocols.rs, with the seed of its lib/kv-hashing/src/salt.rs. */
export async function createDynamoHashes(blockSize: number, salt: DynamoSalt): Promise<DynamoHashes> {
  const localHash = await createXxh3(await localSeed(salt));
  const seqHash = await createXxh3(SEED);
  return {
    localHashes(tokens, items) {
      const hashes = new BigUint64Array(Math.floor(tokens.length / blockSize));
      const extra = flattenExtraKeys(items, 0, hashes.length);
      let next = 0; // of extra
      for (let i = 0; i < hashes.length; i++) {
        const bytes = tokenBytes(tokens.subarray(i * blockSize, (i + 1) * blockSize));
        const from = next;
        while (extra?.blocks[next] === i) next++;
        const keys = extra && next > from ? keyBytes(extra.keys.subarray(from, next)) : NO_BYTES;
        hashes[i] = localHash(keys.length === 0 ? bytes : Buffer.concat([bytes, keys]));
      }
      return hashes;
    },

    seqHashes(localHashes) {
      const hashes = localHashes.slice();
      const pair = new BigUint64Array(2);
      const bytes = new Uint8Array(pair.buffer);
      for (let i = 1; i < hashes.length; i++) {
        pair[0] = hashes[i - 1]!;
        pair[1] = localHashes[i]!;
        hashes[i] = seqHash(bytes);
      }
      return hashes;
    },
  };
}

/** 1337, and where there are any XXH3-64 of the LoRA name with seed 0 and of the namespace with seed 1; it wraps. */
async function localSeed({ loraName, cacheNamespace }: DynamoSalt): Promise<bigint> {
  let seed = SEED;
  if (loraName !== undefined) seed += (await createXxh3(0n))(Buffer.from(loraName, 'utf8'));
  if (cacheNamespace !== undefined) seed += (await createXxh3(1n))(Buffer.from(cacheNamespace, 'utf8'));
  return BigInt.asUintN(64, seed);
}

function keyBytes(keys: BigUint64Array): Uint8Array {
  return new Uint8Array(keys.buffer, keys.byteOffset, keys.byteLength);
}
