/**
 * The rows of README's table of figures: what is measured, and how it is told. `{scenario: figure}` is filled in with the
 * figure of that name, its unit and, where it has one, its target; `{scenario: figure | unit}` tells two of one name apart. A
 * `*` stands for anything: of several figures the smallest and the largest are told. A row is left out where a run has not all
 * of its figures: it may be of another machine, or of some of the scenarios.
 */
export const rows = [
  [
    'a prompt of 67,632 tokens to seq hashes, with AVX-512DQ',
    '{hash: avx512 | ns/block}, {hash: avx512 ÷ the chain step alone} of the chain step alone; xxhash-wasm takes {hash: xxhash-wasm ÷ avx512} as long; 500 tokens more: {hash: SessionHasher: append 500 tokens to *}',
  ],
  [
    'the same, scalar',
    '{hash: scalar | ns/block}, {hash: scalar ÷ the chain step alone} of the chain step alone; xxhash-wasm takes {hash: xxhash-wasm ÷ scalar} as long',
  ],
  [
    'four prompts at once: `hashMany`',
    '{hash: avx512, hashMany of 4 prompts}; one by one takes {hash: avx512, 4 prompts: one by one ÷ hashMany} as long',
  ],
  [
    '`overlap` of 2,818 blocks, 64 workers, 4.6 million blocks in the index',
    '{index: turn by turn: overlap}; a flat native hash table takes {index: turn by turn: flat table ÷ overlap} as long, the Map twin {index: Map twin ÷ overlap, *}',
  ],
  [
    'the same against the machine',
    '{index: overlap ÷ cold memcmp and a call with two arrays} of a cold `memcmp` of the same bytes and a call with two typed arrays',
  ],
  [
    '1,000 workers, of which 200 hold one run',
    '{index: 1,000 slots, * hold the shared run ÷ 64 slots} of 64 workers; with the prompt in 35 runs {index: 1,000 slots, * runs a prompt ÷ 64 slots}',
  ],
  ['5,000 continuations of one run', '{index: 5,000 children behind a run ÷ 5} of five'],
  [
    '64 requests of 24 short runs at once: `overlapMany`',
    'one by one takes {index: *: one by one ÷ overlapMany} as long',
  ],
  [
    'exclusive and fair overlap',
    '{*: turn by turn: exclusive ÷ overlap} and {*: turn by turn: fair ÷ overlap} of an overlap',
  ],
  [
    'storing new blocks',
    '{index: turn by turn: store}, {index: turn by turn: store ÷ flat insert} of a flat table',
  ],
  [
    'memory',
    '{index: turn by turn: reserved, one holder} reserved, {index: turn by turn: used, one holder} used; a further holder of a run {index: further holder of a whole run}',
  ],
  [
    'a routing decision for 64 workers: 67,632 tokens, 500 of them new',
    '{routing: from tokens: median} from tokens, {routing: 500 new tokens: median} with a `SessionHasher`; scoring alone {routing: scoring, *}',
  ],
  [
    'what a decision takes of the heap',
    '{routing: from tokens: heap, 2,818 blocks} from tokens, {routing: 500 new tokens: heap, 2,818 blocks} with a `SessionHasher`; a prompt ten times as long {routing: *: heap, long ÷ short}',
  ],
  [
    'crossing into the addon',
    '{boundary: an empty native call} for an empty call, {boundary: two typed arrays} with two typed arrays',
  ],
  [
    'a request on bounded workers: overlap, store, own',
    '{ingest: store and own: native | ns/block}, {ingest: store and own: native | requests/s}; the reference backend takes {ingest: store and own: reference ÷ native} as long',
  ],
  [
    'what bounds cost workers without one',
    'store {ingest: unbounded slots: store ÷ without the machinery}, `overlap` {ingest: unbounded slots: overlap ÷ without the machinery} of a build without them',
  ],
  [
    'memory on a trace, stored turn by turn',
    '{memory: unbounded slots, turn by turn: reserved} reserved, {memory: unbounded slots, turn by turn: used} used; what the allocator gave is {memory: *allocator ÷ reserved} of what `stats()` says',
  ],
  ['memory while an index grows', 'its peak is {memory: growing to *: peak ÷ end} of what it has in the end'],
  [
    'a snapshot of an index, and restoring it',
    'storing the blocks again takes {memory: *: storing them again ÷ snapshot} and {memory: *: storing them again ÷ restore} as long',
  ],
  [
    'KV events of an engine, decoded and applied',
    '{events: *: decode and apply}, {events: *: faster than the plain follower} as fast as a follower in plain JavaScript that checks as much',
  ],
  [
    '`kvidx apc`',
    'plain JavaScript takes {apc: whole command: plain JavaScript ÷ kvidx} as long, {apc: counting: plain JavaScript ÷ kvidx} for the counting; `--curve` takes {apc: whole command: with --curve ÷ without}',
  ],
  [
    'Bloom sketches: building and testing 17,000 keys',
    'AVX-512 {sketch: 17,000 keys, avx512: build} and {sketch: 17,000 keys, avx512: test}, AVX2 {sketch: 17,000 keys, avx2: build} and {sketch: 17,000 keys, avx2: test}',
  ],
  [
    'Bloom sketches: size and truth',
    '{sketch: full frames at the end}; overlap by sketch past the exact one {sketch: overlap: mean inflation}; false positives {sketch: *: false positives, measured ÷ target} of those asked for',
  ],
];
