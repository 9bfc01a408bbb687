/** A scenario that `kvidx bench` knows; `file` is the main of its process. */
export interface CatalogueEntry {
  readonly name: string;
  readonly description: string;
  readonly file: URL;
  /** It takes the trace of `--trace`. */
  readonly replaysTrace?: true;
  /** It takes minutes: left out unless it is named, and launched once. */
  readonly onlyByName?: true;
}

export const catalogue: readonly CatalogueEntry[] = [
  {
    name: 'apc',
    description: '`kvidx apc` of a trace, whole commands and counting, against plain JavaScript',
    file: new URL('./scenarios/apc.js', import.meta.url),
    replaysTrace: true,
  },
  {
    name: 'boundary',
    description: 'what crossing into the addon costs: an empty call, typed arrays, a whole query of nothing',
    file: new URL('./scenarios/boundary.js', import.meta.url),
  },
  {
    name: 'events',
    description: 'KV events of an engine: decoded and applied, against a follower in plain JavaScript',
    file: new URL('./scenarios/events.js', import.meta.url),
    replaysTrace: true,
  },
  {
    name: 'exclusive',
    description:
      'exclusive and fair overlap against plain overlap, and on a run that a thousand sessions own',
    file: new URL('./scenarios/exclusive.js', import.meta.url),
  },
  {
    name: 'hash',
    description: 'tokens to seq hashes: native against xxhash-wasm; appending to a session',
    file: new URL('./scenarios/hash.js', import.meta.url),
  },
  {
    name: 'index',
    description:
      'overlaps, stores and memory of the index: against a flat hash table, the Map twin and a cold memcmp',
    file: new URL('./scenarios/index-against-rivals.js', import.meta.url),
  },
  {
    name: 'ingest',
    description: 'a trace through bounded slots: native against the reference backend, with and without pins',
    file: new URL('./scenarios/ingest.js', import.meta.url),
    replaysTrace: true,
  },
  {
    name: 'memory',
    description: 'bytes a block on a trace, and what stats() says against what the allocator gave',
    file: new URL('./scenarios/memory.js', import.meta.url),
    replaysTrace: true,
  },
  {
    name: 'routing',
    description: 'whole decisions for 64 workers: their parts, their slowest hundredth, the heap they take',
    file: new URL('./scenarios/routing.js', import.meta.url),
  },
  {
    name: 'sketch',
    description:
      'Bloom sketches: speed, false positives, what they add to overlaps, what their exchange takes',
    file: new URL('./scenarios/sketch.js', import.meta.url),
    replaysTrace: true,
  },
  {
    name: 'soak',
    description: 'twenty million operations at a bound: memory stays flat, nothing breaks',
    file: new URL('./scenarios/soak.js', import.meta.url),
    onlyByName: true,
  },
];

/** The scenarios of these names; without any, those that run unasked. */
export function chosenScenarios(names: readonly string[]): CatalogueEntry[] {
  return catalogue.filter(({ name, onlyByName }) =>
    names.length === 0 ? !onlyByName : names.includes(name),
  );
}
