import xxhash from 'xxhash-wasm';
import type { FlatExtraKeys, HashPath, HashSeam } from '../native/seam.js';

/**
 * Scheme xxh64-v1 over xxhash-wasm. Typed arrays give the little-endian bytes that the scheme asks for.
 * Cost: two calls into WebAssembly a block, whose bigint conversions are most of its time.
 */
export async function createReferenceHasher(): Promise<HashSeam> {
  const { h64Raw } = await xxhash();
  const word = new BigUint64Array(1);
  const wordBytes = new Uint8Array(word.buffer);

  function chain(local: bigint, parent: bigint): bigint {
    word[0] = local;
    return h64Raw(wordBytes, parent);
  }

  /** Calls `sink(i, local_i)` for each full block, in order. */
  function eachLocal(
    tokens: Uint32Array,
    blockSize: number,
    extra: FlatExtraKeys | undefined,
    sink: (i: number, local: bigint) => void,
  ): void {
    const block = new Uint32Array(blockSize);
    const bytes = new Uint8Array(block.buffer);
    const count = Math.floor(tokens.length / blockSize);
    let key = 0;
    for (let i = 0; i < count; i++) {
      const start = i * blockSize;
      for (let k = 0; k < blockSize; k++) block[k] = tokens[start + k]!;
      const firstKey = key;
      while (extra && extra.blocks[key] === i) key++;
      sink(i, h64Raw(key === firstKey ? bytes : join(bytes, extra!.keys.slice(firstKey, key)), 0n));
    }
  }

  const path: HashPath = {
    isa: 'wasm',
    localHashes(tokens, blockSize, extra, out) {
      eachLocal(tokens, blockSize, extra, (i, local) => {
        out[i] = local;
      });
    },
    seqHashes(tokens, blockSize, parent, extra, out) {
      let seq = parent;
      eachLocal(tokens, blockSize, extra, (i, local) => {
        seq = chain(local, seq);
        out[i] = seq;
      });
    },
    seqHashesMany(prompts, blockSize, parents, extras, outs) {
      prompts.forEach((tokens, i) => {
        path.seqHashes(tokens, blockSize, parents[i]!, extras?.[i], outs[i]!);
      });
    },
  };

  return {
    hashPaths: [path],
    localHashes: path.localHashes,
    seqHashes: path.seqHashes,
    seqHashesMany: path.seqHashesMany,
    xxh64: (bytes, seed) => h64Raw(bytes, seed),
    chainHashes(locals, parent, out) {
      let seq = parent;
      for (let i = 0; i < locals.length; i++) {
        seq = chain(locals[i]!, seq);
        out[i] = seq;
      }
    },
  };
}

function join(bytes: Uint8Array, keys: BigUint64Array): Uint8Array {
  const joined = new Uint8Array(bytes.length + keys.byteLength);
  joined.set(bytes);
  joined.set(new Uint8Array(keys.buffer), bytes.length);
  return joined;
}
