import { Decoder } from '@msgpack/msgpack';
import xxhash from 'xxhash-wasm';
import { decodeEventBatch } from '../src/events/decode-batch.js';
import { EventFeed } from '../src/events/feed/event-feed.js';
import { KvIndex } from '../src/kv-index/kv-index.js';

type Hash = (bytes: Uint8Array, seed: bigint) => bigint;

export interface Follower {
  apply(worker: string, payload: Uint8Array): void;
}

/** Follows with an index of its own. */
export class KvidxFollower implements Follower {
  readonly index: KvIndex;
  readonly #feed: EventFeed;

  constructor(blockSize: number) {
    this.index = new KvIndex({ blockSize });
    this.#feed = new EventFeed(this.index);
  }

  apply(worker: string, payload: Uint8Array): void {
    this.#feed.follow(worker).apply(payload, { nowMs: 0 });
  }
}

/**
 * Follows an engine as one would write it in plain JavaScript on top of the decoder: a block's tokens hashed by xxhash-wasm,
 * a Map from the engine's hashes to blocks, and a Map of Sets of who holds a block. Same scheme, same answers as kvidx for
 * the usual events. Kept as it is: it is what kvidx is compared with.
 */
export class PlainFollower implements Follower {
  /** Block → workers. */
  readonly holders = new Map<bigint, Set<string>>();
  readonly #blockSize: number;
  readonly #hash: Hash;
  /** Engine's hash → block, by worker. */
  readonly #names = new Map<string, Map<bigint, bigint>>();
  readonly #local = new BigUint64Array(1);
  readonly #localBytes = new Uint8Array(this.#local.buffer);

  constructor(blockSize: number, hash: Hash) {
    this.#blockSize = blockSize;
    this.#hash = hash;
  }

  apply(worker: string, payload: Uint8Array): void {
    let names = this.#names.get(worker);
    if (names === undefined) {
      names = new Map();
      this.#names.set(worker, names);
    }
    for (const event of decodeEventBatch(payload).events) {
      if (event.kind === 'stored' && event.tokens !== undefined) {
        const parent = event.parentHash === undefined ? 0n : (names.get(event.parentHash) ?? 0n);
        this.#store(worker, names, event.blockHashes, parent, event.tokens);
      } else if (event.kind === 'removed') {
        for (const name of event.blockHashes) this.#remove(worker, names, name);
      } else if (event.kind === 'cleared') {
        for (const name of [...names.keys()]) this.#remove(worker, names, name);
      }
    }
  }

  #store(
    worker: string,
    names: Map<bigint, bigint>,
    blockHashes: BigUint64Array,
    parent: bigint,
    tokens: Uint32Array,
  ): void {
    let block = parent;
    for (let i = 0; i < blockHashes.length; i++) {
      const bytes = new Uint8Array(
        tokens.buffer,
        tokens.byteOffset + 4 * i * this.#blockSize,
        4 * this.#blockSize,
      );
      this.#local[0] = this.#hash(bytes, 0n);
      block = this.#hash(this.#localBytes, block);
      names.set(blockHashes[i]!, block);
      const holders = this.holders.get(block);
      if (holders) holders.add(worker);
      else this.holders.set(block, new Set([worker]));
    }
  }

  #remove(worker: string, names: Map<bigint, bigint>, name: bigint): void {
    const block = names.get(name);
    if (block === undefined) return;
    names.delete(name);
    const holders = this.holders.get(block);
    if (holders?.delete(worker) && holders.size === 0) this.holders.delete(block);
  }
}

/**
 * The least that follows at all: nothing is checked, and blocks are known by the engine's hashes alone, which a router can
 * only ask for if it knows how the engine hashes.
 */
export class BareFollower implements Follower {
  readonly holders = new Map<unknown, Set<string>>();
  readonly #decoder = new Decoder({ useBigInt64: true });

  apply(worker: string, payload: Uint8Array): void {
    const [, events] = this.#decoder.decode(payload) as [number, (Record<string, unknown> | unknown[])[]];
    for (const event of events) {
      const [tag, hashes] = Array.isArray(event) ? event : [event.type, event.block_hashes];
      for (const hash of hashes as unknown[]) {
        const holders = this.holders.get(hash);
        if (tag === 'BlockStored') {
          if (holders) holders.add(worker);
          else this.holders.set(hash, new Set([worker]));
        } else if (holders?.delete(worker) && holders.size === 0) {
          this.holders.delete(hash);
        }
      }
    }
  }
}

export async function plainHash(): Promise<Hash> {
  return (await xxhash()).h64Raw;
}
