import { BlockHasher } from '../../src/hash/block-hasher.js';
import { SessionHasher } from '../../src/hash/session-hasher.js';
import type { HashPath } from '../../src/native/seam.js';
import { nativeSeam, referenceSeam } from '../backends.js';
import type { Figure, Target } from '../figures.js';
import { runScenario } from '../harness.js';
import { Race, type Rival } from '../race.js';
import { Random } from '../random.js';

const BLOCKS = 2818;
const BLOCK_SIZE = 24;
const PROMPTS = 4;
const APPENDED = 500;

interface PathTargets {
  readonly overChain: Target;
  readonly baseline: Target;
  /** Where several prompts are interleaved. */
  readonly many?: Target;
}
const TARGETS: Record<string, PathTargets> = {
  scalar: { overChain: { atMost: 1.95 }, baseline: { atLeast: 12 } },
  avx512: { overChain: { atMost: 1.15 }, baseline: { atLeast: 20 }, many: { atLeast: 1.4 } },
};

await runScenario('hash', async ({ quick, check, note }) => {
  const native = nativeSeam();
  const [wasm] = (await referenceSeam()).hashPaths;
  const paths = native.hashPaths;
  if (paths.length === 1) note('AVX-512DQ: left out, this machine has none, or KVIDX_ISA forbids it');
  const random = new Random(1);
  const prompts = Array.from({ length: PROMPTS }, () => random.tokens(BLOCKS * BLOCK_SIZE));
  const tokens = prompts[0]!;
  // Each path has results of its own; the checks have written to all of them before anything is timed.
  const outs = new Map(
    [...paths, wasm!].map((path) => [path, prompts.map(() => new BigUint64Array(BLOCKS))]),
  );
  const locals = new BigUint64Array(BLOCKS);
  const chained = new BigUint64Array(BLOCKS);
  const parents = new BigUint64Array(PROMPTS);
  const one = (path: HashPath, i = 0) =>
    path.seqHashes(prompts[i]!, BLOCK_SIZE, 0n, undefined, outs.get(path)![i]!);
  const each = (path: HashPath) => {
    for (let i = 0; i < PROMPTS; i++) one(path, i);
  };
  const many = (path: HashPath) =>
    path.seqHashesMany(prompts, BLOCK_SIZE, parents, undefined, outs.get(path)!);

  each(wasm!);
  const expected = bytesOf(outs.get(wasm!)!);
  const agrees = (path: HashPath, hash: (path: HashPath) => void) => {
    for (const out of outs.get(path)!) out.fill(0n);
    hash(path);
    return bytesOf(outs.get(path)!).equals(expected);
  };
  check(
    `xxhash-wasm and each path, one by one and together, give the same seq hashes of ${PROMPTS} prompts of ${BLOCKS} blocks: ${paths.map(({ isa }) => isa).join(', ')}`,
    paths.every((path) => agrees(path, each) && agrees(path, many)),
  );
  native.localHashes(tokens, BLOCK_SIZE, undefined, locals);
  native.chainHashes(locals, 0n, chained);
  check(
    'and so does chaining their local hashes',
    bytesOf([chained]).equals(bytesOf([outs.get(wasm!)![0]!])),
  );

  const session = new SessionHasher(new BlockHasher({ blockSize: BLOCK_SIZE }));
  const appended = random.tokens(APPENDED);
  session.append(tokens);
  const history = session.tokens;

  // Of four prompts each, so that a sample is long beside what the clock tells apart, and finds the same tokens in its caches.
  const rivals: Record<string, Rival> = {
    wasm: { operations: BLOCKS, baseline: true, run: () => one(wasm!) },
    chain: {
      operations: PROMPTS * BLOCKS,
      run: () => {
        for (let i = 0; i < PROMPTS; i++) native.chainHashes(locals, 0n, chained);
      },
    },
    append: { prepare: () => session.truncate(history), run: () => session.append(appended) },
  };
  for (const path of paths) {
    rivals[path.isa] = { operations: PROMPTS * BLOCKS, run: () => each(path) };
    rivals[`${path.isa} many`] = { operations: PROMPTS * BLOCKS, run: () => many(path) };
  }
  const race = new Race(rivals, quick ? { rounds: 4, roundMs: 6, samples: 8 } : { rounds: 12, roundMs: 80 });

  const ratios = paths.flatMap(({ isa }): Figure[] => {
    const { overChain, baseline, many } = TARGETS[isa]!;
    return [
      {
        name: `${isa} ÷ the chain step alone`,
        unit: 'x',
        ...race.ratio(isa, 'chain'),
        target: overChain,
        better: 'lower',
      },
      {
        name: `xxhash-wasm ÷ ${isa}`,
        unit: 'x',
        ...race.ratio('wasm', isa),
        target: baseline,
        better: 'higher',
      },
      {
        name: `${isa}, ${PROMPTS} prompts: one by one ÷ hashMany`,
        unit: 'x',
        ...race.ratio(isa, `${isa} many`),
        ...(many && { target: many }),
        better: 'higher',
      },
    ];
  });
  const times = paths.flatMap(({ isa }) => [
    race.time(isa, isa, 'ns/block'),
    race.time(`${isa} many`, `${isa}, hashMany of ${PROMPTS} prompts`, 'ns/block'),
  ]);
  return [
    ...ratios,
    race.time('chain', 'the chain step alone (a latency)', 'ns/block'),
    ...times,
    race.time('wasm', 'xxhash-wasm', 'ns/block'),
    race.time('append', `SessionHasher: append ${APPENDED} tokens to ${history}`, 'µs'),
  ];
});

function bytesOf(arrays: readonly BigUint64Array[]): Buffer {
  return Buffer.concat(arrays.map(({ buffer }) => new Uint8Array(buffer)));
}
