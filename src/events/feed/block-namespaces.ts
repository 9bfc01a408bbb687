import { LRUCache } from 'lru-cache';
import { type Namespace, namespaceRoot } from '../../hash/namespace.js';

/** Roots that are remembered: more LoRA adapters and salts than are busy at a time. */
const MAX_ROOTS = 1024;

/** The roots of chains: the feed's namespace with the LoRA and the salt of an event. */
export class BlockNamespaces {
  /** Of events that have neither. */
  readonly plain: bigint;
  readonly #base: Namespace;
  readonly #note: (root: bigint, namespace: Namespace) => void;
  readonly #roots = new LRUCache<string, bigint>({ max: MAX_ROOTS });

  constructor(base: Namespace, note: (root: bigint, namespace: Namespace) => void) {
    this.#base = base;
    this.#note = note;
    this.plain = namespaceRoot(base);
    note(this.plain, base);
  }

  root(lora: string | undefined, salt: string | undefined): bigint {
    if (lora === undefined && salt === undefined) return this.plain;
    const key = JSON.stringify([lora, salt]);
    const known = this.#roots.get(key);
    if (known !== undefined) return known;
    const namespace = {
      ...this.#base,
      ...(lora !== undefined && { lora }),
      ...(salt !== undefined && { salt }),
    };
    const root = namespaceRoot(namespace);
    this.#roots.set(key, root);
    this.#note(this.plain, this.#base); // among many salts it must not be forgotten
    this.#note(root, namespace);
    return root;
  }
}
