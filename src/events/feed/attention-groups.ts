/**
 * Kinds of attention whose blocks hold a whole prefix. Layers of the others (sliding windows, state spaces, …) keep a part
 * of it, in groups of their own that store and remove the same blocks.
 */
const MAIN_KINDS: ReadonlySet<string> = new Set(['full_attention', 'mla_attention', 'sink_full_attention']);

/** No model has so many groups of layers; what an engine says beyond is not learned. */
const MAX_GROUPS = 256;

/**
 * Which group of one rank's layers is the main one: removals tell a group but not its kind, stores tell both. Where several
 * have full attention, the first that stores stands for all: a block is in all of them, or soon in none.
 */
export class AttentionGroups {
  readonly #isMain = new Map<number, boolean>();
  #main: number | undefined;
  // What was learned last: most stores tell the same as the one before.
  #group = -1;
  #kind: string | undefined;
  #isLastMain = false;

  /** Of a store. `group` −1: none was sent. */
  learn(group: number, kind: string | undefined): boolean {
    if (kind === undefined) return this.isMain(group);
    if (group === this.#group && kind === this.#kind) return this.#isLastMain;
    const isMain = MAIN_KINDS.has(kind) && (group < 0 || (this.#main ?? group) === group);
    if (isMain && group >= 0) this.#main = group;
    if (group >= 0 && (this.#isMain.size < MAX_GROUPS || this.#isMain.has(group)))
      this.#isMain.set(group, isMain);
    this.#group = group;
    this.#kind = kind;
    this.#isLastMain = isMain;
    return isMain;
  }

  /** Where no store told any kind yet, the first group is the main one. */
  isMain(group: number): boolean {
    if (group < 0) return true;
    return this.#isMain.get(group) ?? (this.#main === undefined && group === 0);
  }

  /** The engine begins anew, maybe with another model. */
  forget(): void {
    this.#isMain.clear();
    this.#main = undefined;
    this.#kind = undefined;
  }

  entries(): [number, boolean][] {
    return [...this.#isMain];
  }

  load(entries: readonly (readonly [number, boolean])[]): void {
    this.#kind = undefined;
    for (const [group, isMain] of entries) {
      this.#isMain.set(group, isMain);
      if (isMain) this.#main = group;
    }
  }
}
