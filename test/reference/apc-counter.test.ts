import { describe, expect, it } from 'vitest';
import { createReferenceSeam } from '../../src/reference/index.js';
import { Random } from '../property/random.js';
import { Requests } from '../property/requests.js';

const seam = await createReferenceSeam();

/** What the counter must answer, by lists: a request's paths are texts, the LRU stack an array, newest first. */
class ByDefinition {
  readonly #capacities: number[];
  readonly #seen = new Set<string>();
  readonly #seenBySession = new Set<string>();
  #stack: string[] = [];

  constructor(capacities: number[]) {
    this.#capacities = capacities;
  }

  add(session: number, ids: BigUint64Array): number[] {
    const prefixes = Array.from(ids, (_, i) => ids.slice(0, i + 1).join());
    const ranks = new Map(this.#stack.map((prefix, i) => [prefix, i + 1]));
    const hits = [
      leading(prefixes, (prefix) => this.#seen.has(prefix)),
      session === 0 ? 0 : leading(prefixes, (prefix) => this.#seenBySession.has(`${session}:${prefix}`)),
      ...this.#capacities.map((capacity) =>
        leading(prefixes, (prefix) => (ranks.get(prefix) ?? Infinity) <= capacity),
      ),
    ];
    for (const prefix of prefixes) {
      this.#seen.add(prefix);
      this.#seenBySession.add(`${session}:${prefix}`);
    }
    const used = new Set(prefixes);
    this.#stack = [...prefixes, ...this.#stack.filter((prefix) => !used.has(prefix))];
    return hits;
  }

  uniqueBlocks(): number {
    return this.#seen.size;
  }
}

function leading(prefixes: string[], holds: (prefix: string) => boolean): number {
  const first = prefixes.findIndex((prefix) => !holds(prefix));
  return first < 0 ? prefixes.length : first;
}

describe('the reference APC counter', () => {
  it('counts what the definition counts', () => {
    const capacities = [1, 2, 5, 17, 60, 100_000];
    for (let seed = 1; seed <= 20; seed++) {
      const requests = new Requests(new Random(seed));
      const counter = seam.createApcCounter(Float64Array.from(capacities));
      const expected = new ByDefinition(capacities);
      const hits = new Uint32Array(2 + capacities.length);
      for (let i = 0; i < 150; i++) {
        const { session, ids } = requests.next();
        counter.add(session, ids, hits);
        expect(Array.from(hits), `seed ${seed}, request ${i}`).toEqual(expected.add(session, ids));
      }
      expect(counter.uniqueBlocks()).toBe(expected.uniqueBlocks());
      counter.close();
    }
  });

  it('chains ids: a block is a hit only behind its own prefix', () => {
    const counter = seam.createApcCounter(new Float64Array());
    const hits = new Uint32Array(2);
    counter.add(1, BigUint64Array.of(1n, 2n), hits);
    counter.add(1, BigUint64Array.of(2n, 1n), hits);
    expect(Array.from(hits)).toEqual([0, 0]);
    counter.add(2, BigUint64Array.of(1n, 3n), hits);
    expect(Array.from(hits)).toEqual([1, 0]);
    counter.add(0, BigUint64Array.of(1n, 3n), hits);
    expect(Array.from(hits)).toEqual([2, 0]);
    counter.add(2, new BigUint64Array(), hits);
    expect(Array.from(hits)).toEqual([0, 0]);
    expect(counter.uniqueBlocks()).toBe(5);
  });
});
