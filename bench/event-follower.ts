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

/** A store, removal or clear, decoded. */
type Decoded =
  | { kind: 'stored'; hashes: ArrayLike<bigint>; parent: bigint | undefined; tokens: Uint32Array }
  | { kind: 'removed'; hashes: ArrayLike<bigint> }
  | { kind: 'cleared' };

/** `decodeEventBatch`: every layout of every engine, all checked. */
export function decodeChecked(payload: Uint8Array): Decoded[] {
  const decoded: Decoded[] = [];
  for (const event of decodeEventBatch(payload).events) {
    if (event.kind === 'stored') {
      const { blockHashes: hashes, parentHash: parent, tokens } = event;
      if (tokens) decoded.push({ kind: 'stored', hashes, parent, tokens });
    } else if (event.kind === 'removed') {
      decoded.push({ kind: 'removed', hashes: event.blockHashes });
    } else {
      decoded.push(event);
    }
  }
  return decoded;
}

const decoder = new Decoder({ useBigInt64: true });

/** The npm package msgpack alone: what it gives is believed, and the hashes are 64-bit integers. */
export function decodeUnchecked(payload: Uint8Array): Decoded[] {
  const [, events] = decoder.decode(payload) as [number, (Record<string, unknown> | unknown[])[]];
  return events.map((event) => {
    const [tag, hashes, parent, tokens] = Array.isArray(event)
      ? event
      : [event.type, event.block_hashes, event.parent_block_hash, event.token_ids];
    if (tag === 'AllBlocksCleared') return { kind: 'cleared' };
    if (tag === 'BlockRemoved') return { kind: 'removed', hashes: hashes as bigint[] };
    return {
      kind: 'stored',
      hashes: hashes as bigint[],
      parent: (parent as bigint | null) ?? undefined,
      tokens: Uint32Array.from(tokens as number[]),
    };
  });
}

/**
 * Follows an engine as one would write it in plain JavaScript: the message decoded, a block's tokens hashed by xxhash-wasm,
 * a Map from the engine's hashes to blocks, and a Map of Sets of who holds a block. Same scheme, same answers as kvidx for
 * the usual events. Kept as it is: it is what kvidx is compared with.
 */
export class PlainFollower implements Follower {
  /** Block → workers. */
  readonly holders = new Map<bigint, Set<string>>();
  readonly #blockSize: number;
  readonly #hash: Hash;
  readonly #decode: (payload: Uint8Array) => Decoded[];
  /** Engine's hash → block, by worker. */
  readonly #names = new Map<string, Map<bigint, bigint>>();
  readonly #local = new BigUint64Array(1);
  readonly #localBytes = new Uint8Array(this.#local.buffer);

  constructor(blockSize: number, hash: Hash, decode: (payload: Uint8Array) => Decoded[]) {
    this.#blockSize = blockSize;
    this.#hash = hash;
    this.#decode = decode;
  }

  apply(worker: string, payload: Uint8Array): void {
    let names = this.#names.get(worker);
    if (names === undefined) {
      names = new Map();
      this.#names.set(worker, names);
    }
    for (const event of this.#decode(payload)) {
      if (event.kind === 'stored') {
        const parent = event.parent === undefined ? 0n : (names.get(event.parent) ?? 0n);
        this.#store(worker, names, event.hashes, parent, event.tokens);
      } else if (event.kind === 'removed') {
        for (let i = 0; i < event.hashes.length; i++) this.#remove(worker, names, event.hashes[i]!);
      } else {
        for (const name of [...names.keys()]) this.#remove(worker, names, name);
      }
    }
  }

  #store(
    worker: string,
    names: Map<bigint, bigint>,
    blockHashes: ArrayLike<bigint>,
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

export async function plainHash(): Promise<Hash> {
  return (await xxhash()).h64Raw;
}
