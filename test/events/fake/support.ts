import assert from 'node:assert/strict';
import {
  BlockHasher,
  type KvEvent,
  type StoredEvent,
  TraceReader,
  type TraceRow,
} from '../../../src/index.js';

export async function readRows(path: string, most: number): Promise<TraceRow[]> {
  const rows: TraceRow[] = [];
  for await (const row of new TraceReader(path)) {
    rows.push(row);
    if (rows.length === most) break;
  }
  return rows;
}

export function sorted(values: Iterable<bigint>): BigUint64Array {
  return BigUint64Array.from(values).sort();
}

/** What an engine's events say that it holds, and what the tokens in them hash to, by name. */
export class Follower {
  readonly tiers = new Map<string, Set<bigint>>([
    ['GPU', new Set()],
    ['CPU', new Set()],
  ]);
  readonly #seqHashes = new Map<bigint, bigint>();
  readonly #hasher: BlockHasher;

  constructor(
    blockSize: number,
    /** Most blocks, by tier. */
    readonly capacities: Readonly<Record<string, number>>,
  ) {
    this.#hasher = new BlockHasher({ blockSize });
  }

  apply(events: readonly KvEvent[]): void {
    for (const event of events) {
      if (event.kind === 'cleared') for (const tier of this.tiers.values()) tier.clear();
      else {
        const tier = this.tiers.get(event.medium)!;
        if (event.kind === 'removed') for (const name of event.blockHashes) assert(tier.delete(name));
        else this.#store(tier, event);
        assert(tier.size <= this.capacities[event.medium]!);
      }
    }
  }

  /** Are these all names of the tier? */
  hasExactly(medium: string, names: BigUint64Array): boolean {
    const tier = this.tiers.get(medium)!;
    return tier.size === names.length && names.every((name) => tier.has(name));
  }

  seqHashes(medium: string): BigUint64Array {
    return sorted(Array.from(this.tiers.get(medium)!, (name) => this.#seqHashes.get(name)!));
  }

  #store(tier: Set<bigint>, { blockHashes, parentHash, tokens, blockSize }: StoredEvent): void {
    if (tokens === undefined) {
      for (const name of blockHashes) assert(this.#isHeld(name));
    } else {
      assert.equal(blockSize, this.#hasher.blockSize);
      if (parentHash !== undefined) assert(this.#isHeld(parentHash));
      const parent = parentHash === undefined ? this.#hasher.root : this.#seqHashes.get(parentHash)!;
      const seqHashes = this.#hasher.seqHashes(tokens, { parent });
      assert.equal(seqHashes.length, blockHashes.length);
      blockHashes.forEach((name, i) => {
        this.#seqHashes.set(name, seqHashes[i]!);
      });
    }
    for (const name of blockHashes) tier.add(name);
  }

  #isHeld(name: bigint): boolean {
    return [...this.tiers.values()].some((tier) => tier.has(name));
  }
}
