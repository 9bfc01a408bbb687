/** One entry of an `AgeOrder`. */
export interface Aged<Key, Value> {
  readonly key: Key;
  value: Value;
  older: Aged<Key, Value> | undefined;
  newer: Aged<Key, Value> | undefined;
}

/**
 * A map that keeps its entries by age: setting one makes it the newest. Every operation is O(1), which a Map in order of
 * insertion is not: V8 walks over all that was deleted at its front each time its first entry is asked for.
 */
export class AgeOrder<Key, Value> {
  readonly #entries = new Map<Key, Aged<Key, Value>>();
  #oldest: Aged<Key, Value> | undefined;
  #newest: Aged<Key, Value> | undefined;

  get size(): number {
    return this.#entries.size;
  }

  get oldest(): Aged<Key, Value> | undefined {
    return this.#oldest;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  set(key: Key, value: Value): void {
    let entry = this.#entries.get(key);
    if (entry) {
      entry.value = value;
      if (entry === this.#newest) return;
      this.#unlink(entry);
    } else {
      entry = { key, value, older: undefined, newer: undefined };
      this.#entries.set(key, entry);
    }
    entry.older = this.#newest;
    entry.newer = undefined;
    if (this.#newest) this.#newest.newer = entry;
    else this.#oldest = entry;
    this.#newest = entry;
  }

  delete(key: Key): boolean {
    const entry = this.#entries.get(key);
    if (!entry) return false;
    this.#entries.delete(key);
    this.#unlink(entry);
    return true;
  }

  clear(): void {
    this.#entries.clear();
    this.#oldest = undefined;
    this.#newest = undefined;
  }

  /** Oldest first; the entry at hand may be deleted. */
  *[Symbol.iterator](): Generator<Aged<Key, Value>, void> {
    for (let entry = this.#oldest; entry; ) {
      const { newer } = entry;
      yield entry;
      entry = newer;
    }
  }

  #unlink({ older, newer }: Aged<Key, Value>): void {
    if (older) older.newer = newer;
    else this.#oldest = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
  }
}
