import type { Namespace } from '../hash/namespace.js';

const CAPACITY = 64;

/** The namespaces that lookups and events named last, for `explain`: 64 at most, so that a tenant a request costs no memory. */
export class NamespaceLog {
  readonly #byRoot = new Map<bigint, Namespace>();

  note(root: bigint, namespace: Namespace): void {
    const known = this.#byRoot.get(root);
    if (known) {
      this.#byRoot.delete(root);
      this.#byRoot.set(root, known);
      return;
    }
    if (this.#byRoot.size === CAPACITY) this.#byRoot.delete(this.#byRoot.keys().next().value!);
    this.#byRoot.set(root, { ...namespace });
  }

  entries(): IterableIterator<[bigint, Namespace]> {
    return this.#byRoot.entries();
  }
}
