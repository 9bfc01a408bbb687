import type { Random } from './random.js';

/** A chain as one call tells it: `parent` as in `CoreIndex.store`. */
export interface Chain {
  seq: bigint[];
  parent: bigint | null | undefined;
}

const MOST_PATHS = 24;
const MASK = 2n ** 64n - 1n;

/**
 * Traffic for property tests: conversations that grow turn by turn, fork, share boilerplate, and now and then meet
 * hashes of the past under another predecessor, because there are few names.
 */
export class World {
  readonly #random: Random;
  readonly #names: number;
  readonly #rawNames: boolean;
  readonly #growth: number;
  readonly #paths: bigint[][] = [[]];
  #nextName = 0;

  constructor(random: Random, isLong: boolean) {
    this.#random = random;
    this.#names = isLong ? 1 << 20 : random.oneOf([24, 64, 512, 4096]);
    this.#rawNames = random.oneIn(4);
    this.#growth = isLong ? 2500 : random.oneOf([1, 4, 12, 40]);
    this.#append(this.#paths[0]!);
  }

  pick(): bigint[] {
    return this.#random.oneOf(this.#paths);
  }

  /** One more turn of a conversation, or a new one: a fork, or one after the common boilerplate. */
  turn(): bigint[] {
    const random = this.#random;
    const kind = random.below(8);
    if (kind >= 2) {
      const path = this.pick();
      if (path.length > Math.min(this.#names / 2, 10_000)) path.length = 0;
      this.#append(path);
      return path;
    }
    const from = kind === 0 ? this.#paths[0]! : this.pick();
    const path = from.slice(0, random.below(from.length + 1));
    this.#append(path);
    if (this.#paths.length < MOST_PATHS) this.#paths.push(path);
    else this.#paths[random.between(1, MOST_PATHS - 1)] = path;
    return path;
  }

  /** A part of a conversation, told as it is. */
  part(): Chain {
    const random = this.#random;
    const path = this.pick();
    const begin = random.oneIn(3) ? 0 : random.below(path.length);
    const end = random.oneOf([path.length, begin + 1, random.between(begin, path.length)]);
    return this.cut(path, begin, end);
  }

  /** A leading part of a conversation, told from the root. */
  head(): Chain {
    const path = this.pick();
    const end = this.#random.oneIn(2) ? path.length : this.#random.between(0, path.length);
    return { seq: path.slice(0, end), parent: undefined };
  }

  /** Blocks [begin, end) of a path. */
  cut(path: readonly bigint[], begin: number, end: number): Chain {
    const parent = this.#random.oneIn(12) ? null : begin === 0 ? undefined : path[begin - 1]!;
    return { seq: path.slice(begin, end), parent };
  }

  /** A part that lies about its order, its parent, or a block. */
  lie(): Chain {
    const random = this.#random;
    const chain = this.part();
    const { seq } = chain;
    const at = random.below(Math.max(seq.length, 1));
    switch (random.below(7)) {
      case 0:
        chain.parent = this.anyBlock();
        break;
      case 1:
        chain.parent = undefined;
        break;
      case 2:
        seq.push(this.anyBlock());
        break;
      case 3:
        seq[at] = this.anyBlock();
        break;
      case 4:
        seq.reverse();
        break;
      case 5:
        chain.parent = seq[at];
        break;
      default:
        chain.seq = [...seq.slice(at), ...seq.slice(0, at)];
    }
    return chain;
  }

  anyBlock(): bigint {
    if (this.#random.oneIn(8)) return this.#name(this.#random.below(this.#names));
    return this.#random.oneOf(this.pick());
  }

  /** Some blocks of any path, in any order. */
  handful(): bigint[] {
    return Array.from({ length: this.#random.below(10) }, () => this.anyBlock());
  }

  #append(path: bigint[]): void {
    for (let count = this.#random.between(1, this.#growth); count > 0; count--) {
      path.push(this.#name(this.#nextName++ % this.#names));
    }
  }

  /** Both ends of the range are legal hashes. Raw names are close together, which hash tables dislike. */
  #name(number: number): bigint {
    if (number === 0) return 0n;
    if (number === 1) return MASK;
    return this.#rawNames ? BigInt(number) : (BigInt(number) * 0x9e3779b97f4a7c15n) & MASK;
  }
}
