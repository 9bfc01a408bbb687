import { expect } from 'vitest';
import {
  type CoreIndex,
  type CoreIndexOptions,
  RESULT_LENGTH,
  type Seam,
  SLOT_FIGURE,
  SLOT_FIGURES_LENGTH,
  SLOT_MODE,
} from '../../src/native/seam.js';

/** Two indexes of equal options that must answer alike. */
export class Sides {
  readonly #seams: readonly [Seam, Seam];
  #options: CoreIndexOptions;
  #indexes: [CoreIndex, CoreIndex];
  operations = 0;

  constructor(seams: readonly [Seam, Seam], options: CoreIndexOptions) {
    this.#seams = seams;
    this.#options = options;
    this.#indexes = [seams[0].createIndex(options), seams[1].createIndex(options)];
  }

  get options(): CoreIndexOptions {
    return this.#options;
  }

  /** The second one, for what only serves to choose the next operation. */
  get oracle(): CoreIndex {
    return this.#indexes[1];
  }

  /** One operation. `expect` on each would take most of the time. */
  both<T>(what: string, call: (index: CoreIndex) => T): T {
    this.operations++;
    return this.#same(what, call);
  }

  /** One operation that fills a `result`. Answers its answer, and the result behind it. */
  feed(what: string, call: (index: CoreIndex, result: Float64Array) => number | boolean): number[] {
    return this.both(what, (index) => {
      const result = new Float64Array(RESULT_LENGTH).fill(7);
      const answer = call(index, result);
      return [Number(answer), ...result];
    });
  }

  expect(what: string, actual: unknown, expected: unknown): void {
    if (isSame(actual, expected)) return;
    expect(actual, `operation ${this.operations}: ${what}`).toEqual(expected);
  }

  /** Each side goes on in a new index. */
  reopen(options: CoreIndexOptions): void {
    this.close();
    this.#options = options;
    this.#indexes = [this.#seams[0].createIndex(options), this.#seams[1].createIndex(options)];
  }

  close(): void {
    for (const index of this.#indexes) index.close();
  }

  /** What both sides save: first, second. */
  snapshots(): [Uint8Array, Uint8Array] {
    return [this.#indexes[0].snapshot(), this.#indexes[1].snapshot()];
  }

  restore(first: Uint8Array, second: Uint8Array): void {
    this.expect('restore', this.#indexes[0].restore(first), '');
    this.expect('restore', this.#indexes[1].restore(second), '');
  }

  /** Nothing is beyond its bound: these slots, and the whole index. */
  expectBounds(slots: Iterable<number>): void {
    for (const slot of slots) this.figures(slot);
    if (this.#options.maxBlocks > 0) this.expectStats();
  }

  figures(slot: number): Float64Array {
    const figures = this.#same(`figures of slot ${slot}`, (index) => {
      const out = new Float64Array(SLOT_FIGURES_LENGTH).fill(7);
      index.slotFigures(slot, out);
      return out;
    });
    const { mode, residentBlocks, capacity } = SLOT_FIGURE;
    if (figures[mode] === SLOT_MODE.bounded && figures[residentBlocks]! > figures[capacity]!) {
      const blocks = `${figures[residentBlocks]} of at most ${figures[capacity]} blocks`;
      expect.fail(`operation ${this.operations}: slot ${slot} holds ${blocks}`);
    }
    return figures;
  }

  /** All that does not depend on the layout. */
  expectStats(): void {
    const { maxBlocks } = this.#options;
    this.#same('stats', (index) => {
      const { runs, runHolders, usedBytes, reservedBytes, ownershipBytes, ...exact } = index.stats();
      const isSound =
        runs <= exact.blocks &&
        runHolders >= 0 &&
        usedBytes <= reservedBytes &&
        ownershipBytes <= reservedBytes &&
        (maxBlocks === 0 || exact.blocks <= maxBlocks);
      if (!isSound) {
        expect.fail(
          `operation ${this.operations}: stats with maxBlocks ${maxBlocks}: ${JSON.stringify(index.stats())}`,
        );
      }
      return exact;
    });
  }

  /** Nothing is left of what an empty index does not have, on either side. */
  expectEmpty(): void {
    for (const [i, index] of this.#indexes.entries()) {
      const { blocks, runs, usedBytes } = index.stats();
      const empty = this.#seams[i]!.createIndex(this.#options);
      this.expect(
        'an emptied index',
        { blocks, runs, usedBytes },
        { blocks: 0, runs: 0, usedBytes: empty.stats().usedBytes },
      );
      empty.close();
    }
  }

  #same<T>(what: string, call: (index: CoreIndex) => T): T {
    const answer = call(this.#indexes[0]);
    this.expect(what, answer, call(this.#indexes[1]));
    return answer;
  }
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const left = Object.values(a);
  const right = Object.values(b);
  return left.length === right.length && left.every((value, i) => Object.is(value, right[i]));
}
