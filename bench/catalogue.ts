/** A scenario that `kvidx bench` knows; `file` is the main of its process. */
export interface CatalogueEntry {
  readonly name: string;
  readonly description: string;
  readonly file: URL;
}

export const catalogue: readonly CatalogueEntry[] = [
  {
    name: 'hash',
    description: 'tokens to seq hashes: native against xxhash-wasm; appending to a session',
    file: new URL('./scenarios/hash.js', import.meta.url),
  },
  {
    name: 'index',
    description: 'overlaps, stores and memory of the index against a flat hash table and the Map twin',
    file: new URL('./scenarios/index-against-rivals.js', import.meta.url),
  },
];
