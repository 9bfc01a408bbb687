import { Decoder } from '@msgpack/msgpack';
import xxhash from 'xxhash-wasm';

/** A store or removal as msgpack gives it, map or array. */
type Sent = Record<string, unknown> | unknown[];

/**
 * Follows an engine as one would write it in plain JavaScript: the message decoded as a whole, each block hashed by
 * xxhash-wasm, a Map from the engine's hashes to blocks and a Map of Sets of who holds a block. Same scheme, same answers
 * as kvidx for the usual events. Kept as it is: it is what kvidx is compared with.
 */
export class PlainFollower {
  /** Block → workers. */
  readonly holders = new Map<bigint, Set<string>>();
  readonly #blockSize: number;
  readonly #hash: ((bytes: Uint8Array, seed: bigint) => bigint) | undefined;
  readonly #decoder = new Decoder({ useBigInt64: true });
  /** Engine's hash → block, by worker. */
  readonly #names = new Map<string, Map<bigint, bigint>>();
  readonly #local = new BigUint64Array(1);

  /** `hash` undefined: blocks are known by the engine's hashes alone, and tokens are not looked at. */
  constructor(blockSize: number, hash: ((bytes: Uint8Array, seed: bigint) => bigint) | undefined) {
    this.#blockSize = blockSize;
    this.#hash = hash;
  }

  apply(worker: string, payload: Uint8Array): void {
    let names = this.#names.get(worker);
    if (names === undefined) {
      names = new Map();
      this.#names.set(worker, names);
    }
    const [, events] = this.#decoder.decode(payload) as [number, Sent[]];
    for (const event of events) {
      if (Array.isArray(event)) {
        const [tag, hashes, parent, tokens] = event as [string, unknown[], unknown, number[]];
        this.#applyOne(worker, names, tag, hashes, parent, tokens);
      } else {
        const { type, block_hashes: hashes, parent_block_hash: parent, token_ids: tokens } = event;
        this.#applyOne(worker, names, type as string, hashes as unknown[], parent, tokens as number[]);
      }
    }
  }

  #applyOne(
    worker: string,
    names: Map<bigint, bigint>,
    tag: string,
    hashes: unknown[],
    parent: unknown,
    tokens: number[],
  ): void {
    if (tag === 'BlockStored') {
      const blocks = this.#blocksOf(names, hashes, parent, tokens);
      for (let i = 0; i < hashes.length; i++) {
        names.set(nameOf(hashes[i]), blocks[i]!);
        const holders = this.holders.get(blocks[i]!);
        if (holders) holders.add(worker);
        else this.holders.set(blocks[i]!, new Set([worker]));
      }
    } else if (tag === 'BlockRemoved') {
      for (const hash of hashes) this.#remove(worker, names, nameOf(hash));
    } else if (tag === 'AllBlocksCleared') {
      for (const name of [...names.keys()]) this.#remove(worker, names, name);
    }
  }

  #blocksOf(names: Map<bigint, bigint>, hashes: unknown[], parent: unknown, tokens: number[]): bigint[] {
    const hash = this.#hash;
    if (hash === undefined) return hashes.map(nameOf);
    const ids = Uint32Array.from(tokens);
    let seq = parent === null || parent === undefined ? 0n : (names.get(nameOf(parent)) ?? 0n);
    return hashes.map((_, i) => {
      const bytes = new Uint8Array(ids.buffer, 4 * i * this.#blockSize, 4 * this.#blockSize);
      this.#local[0] = hash(bytes, 0n);
      seq = hash(new Uint8Array(this.#local.buffer), seq);
      return seq;
    });
  }

  #remove(worker: string, names: Map<bigint, bigint>, name: bigint): void {
    const block = names.get(name);
    if (block === undefined) return;
    names.delete(name);
    const holders = this.holders.get(block);
    if (holders?.delete(worker) && holders.size === 0) this.holders.delete(block);
  }
}

export async function plainHash(): Promise<(bytes: Uint8Array, seed: bigint) => bigint> {
  return (await xxhash()).h64Raw;
}

/** Of a decoded integer, which may be a Number where it is small. */
function nameOf(hash: unknown): bigint {
  return typeof hash === 'bigint' ? BigInt.asUintN(64, hash) : BigInt.asUintN(64, BigInt(hash as number));
}
