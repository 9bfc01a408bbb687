import { createXxh3 } from './digest.js';
import { tokenBytes } from './token-bytes.js';

const SEED = 1337n;

export interface DynamoSalt {
  readonly loraName?: string | undefined;
  readonly cacheNamespace?: string | undefined;
}

export interface DynamoHashes {
  /** `Uint32Array[n] → BigUint64Array[⌊n / blockSize⌋]`: XXH3-64 of a block's u32le tokens, seeded by the salt. */
  localHashes(tokens: Uint32Array): BigUint64Array;
  /** Of a chain's local hashes: its first, then XXH3-64 of u64le previous seq hash ‖ u64le local hash, seed 1337. */
  seqHashes(localHashes: BigUint64Array): BigUint64Array;
}

/** The two hashes of Dynamo's lib/kv-router/src/protocols.rs, with the seed of its lib/kv-hashing/src/salt.rs. */
export async function createDynamoHashes(blockSize: number, salt: DynamoSalt): Promise<DynamoHashes> {
  const localHash = await createXxh3(await localSeed(salt));
  const seqHash = await createXxh3(SEED);
  return {
    localHashes(tokens) {
      const hashes = new BigUint64Array(Math.floor(tokens.length / blockSize));
      for (let i = 0; i < hashes.length; i++) {
        hashes[i] = localHash(tokenBytes(tokens.subarray(i * blockSize, (i + 1) * blockSize)));
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
