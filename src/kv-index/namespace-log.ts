import type { Namespace } from '../hash/namespace.js';

const CAPACITY = 64;

/** The namespaces that lookups named last, for `explain`: 64 at most, so that a tenant a request costs no memory. */
export class NamespaceLog {
  readonly #byRoot = new Map<bigint, Namespace>();

  note(root: bigint, namespace: Namespace): void {
    if (this.#byRoot.has(root)) return;
    if (this.#byRoot.size === CAPACITY) this.#byRoot.delete(this.#byRoot.keys().next().value!);
    this.#byRoot.set(root, { ...namespace });
  }

  entries(): IterableIterator<[bigint, Namespace]> {
    return this.#byRoot.entries();
  }
}
