import type { BloomPath } from '../src/native/seam.js';
import { BloomFilter, filterBlocks } from '../src/sketch/index.js';
import { WORDS_A_BLOCK } from '../src/sketch/words.js';
import { counted, grouped } from '../src/text.js';
import { type RivalFilter, rivalFilter } from './bloom-rival.js';
import type { Figure, Target } from './figures.js';
import type { ScenarioContext } from './harness.js';
import { Race, type RaceOptions, type Rival } from './race.js';
import { Random } from './random.js';

const TARGET_FPP = 0.01;
/** Blocks that a worker of 408,000 tokens holds; its filter stays in the first caches. */
const WORKER_KEYS = 17_000;
const REQUEST_BLOCKS = 2818;
/** Vector against scalar, building and testing together. */
const VECTOR_TARGETS: Record<string, Target> = { avx2: { atLeast: 1.7 }, avx512: { atLeast: 2.5 } };
const RIVAL_KEYS = 2_000;
/** Workers that are asked for one request. */
const COLD_CALLS = 64;
/** Requests, each of which looks at other lines of the filters. */
const STRANGERS = 4096;

/** Building and asking, path by path, with as many keys as a worker holds, and with a million. */
export function raceSpeed(context: ScenarioContext, native: readonly BloomPath[], wasm: BloomPath): Figure[] {
  const { quick, check, note, progress } = context;
  const random = new Random(31);
  const times = (rounds: number) => (quick ? { rounds: 1, roundMs: 5, samples: 8 } : { rounds, roundMs: 60 });
  if (native.length === 1) note('vector against scalar: left out, this machine runs the scalar path alone');

  const keys = random.hashes(WORKER_KEYS);
  const others = random.hashes(WORKER_KEYS);
  check(
    `all paths give equal bits and answers for ${counted(keys.length, 'key')}: ${[...native, wasm].map(({ isa }) => isa).join(', ')}`,
    agree([...native, wasm], keys, others),
  );
  progress(`building and asking, ${grouped(keys.length)} keys`);
  const figures = raceBuildAndTest([...native, wasm], keys, times(5), VECTOR_TARGETS);

  const many = random.hashes(quick ? 50_000 : 1_000_000);
  progress(`building and asking, ${grouped(many.length)} keys`);
  figures.push(...raceBuildAndTest(native, many, times(3)));

  progress('leading blocks of a request');
  figures.push(...raceLeading(context, native, random));
  return figures;
}

function agree(paths: readonly BloomPath[], keys: BigUint64Array, others: BigUint64Array): boolean {
  const asked = BigUint64Array.of(...keys.subarray(0, 1000), ...others);
  const answers = paths.map((path) => {
    const words = emptyWords(keys.length);
    const out = new Uint8Array(asked.length);
    path.add(words, keys);
    const positive = path.test(words, asked, out);
    return Buffer.concat([
      Buffer.from(words.buffer),
      out,
      Buffer.from([positive, path.leading(words, asked)].join()),
    ]);
  });
  return answers.every((answer) => answer.equals(answers[0]!));
}

function raceBuildAndTest(
  paths: readonly BloomPath[],
  keys: BigUint64Array,
  options: RaceOptions,
  targets: Record<string, Target> = {},
): Figure[] {
  const rivals: Record<string, Rival> = {};
  for (const path of paths) {
    const words = emptyWords(keys.length);
    const out = new Uint8Array(keys.length);
    const empty = { operations: keys.length, prepare: () => words.fill(0) };
    rivals[`${path.isa} build`] = { ...empty, run: () => path.add(words, keys) };
    rivals[`${path.isa} test`] = { operations: keys.length, run: () => path.test(words, keys, out) };
    rivals[`${path.isa} both`] = {
      ...empty,
      run: () => {
        path.add(words, keys);
        path.test(words, keys, out);
      },
    };
  }
  const race = new Race(rivals, options);
  const size = `${grouped(keys.length)} keys`;
  const ratios = paths
    .filter(({ isa }) => isa.startsWith('avx'))
    .map(({ isa }): Figure => {
      const name = `${size}, build and test: scalar ÷ ${isa}`;
      const target = targets[isa];
      return {
        name,
        unit: 'x',
        ...race.ratio('scalar both', `${isa} both`),
        ...(target && { target }),
        better: 'higher',
      };
    });
  const times = paths.flatMap(({ isa }): Figure[] => [
    race.time(`${isa} build`, `${size}, ${isa}: build`, 'ns/key'),
    race.time(`${isa} test`, `${size}, ${isa}: test`, 'ns/key'),
  ]);
  return [...ratios, ...times];
}

/**
 * A request of which a worker holds all, again and again; and requests of which workers hold nothing, whose first block is
 * looked up in a filter that is in none of the first caches: what a router asks of most workers.
 */
function raceLeading(
  { quick, check }: ScenarioContext,
  paths: readonly BloomPath[],
  random: Random,
): Figure[] {
  const held = random.hashes(REQUEST_BLOCKS);
  const filter = emptyWords(WORKER_KEYS);
  paths[0]!.add(filter, held);
  paths[0]!.add(filter, random.hashes(WORKER_KEYS - REQUEST_BLOCKS));
  const filters = Array.from({ length: quick ? 64 : 2048 }, () => {
    const words = emptyWords(WORKER_KEYS);
    paths[0]!.add(words, random.hashes(WORKER_KEYS));
    return words;
  });
  const order = random.permutation(filters.length);
  const hashes = random.hashes(STRANGERS + REQUEST_BLOCKS);
  const strangers = Array.from({ length: STRANGERS }, (_, i) => hashes.subarray(i, i + REQUEST_BLOCKS));
  check(
    `all paths give equal leading blocks for a request that is held, and for ${counted(filters.length, 'filter')} that hold none of it`,
    paths.every((path) => path.leading(filter, held) === held.length) &&
      filters.every((words) => {
        const [first, ...rest] = paths.map((path) => path.leading(words, strangers[0]!));
        return rest.every((blocks) => blocks === first);
      }),
  );

  const rivals: Record<string, Rival> = {};
  for (const path of paths) {
    let next = 0;
    rivals[`${path.isa} held`] = { operations: REQUEST_BLOCKS, run: () => path.leading(filter, held) };
    rivals[`${path.isa} cold`] = {
      operations: COLD_CALLS,
      run: () => {
        const request = strangers[(next / COLD_CALLS) % strangers.length]!;
        for (let i = 0; i < COLD_CALLS; i++) path.leading(filters[order[next++ % order.length]!]!, request);
      },
    };
  }
  const race = new Race(rivals, quick ? { rounds: 2, roundMs: 5, samples: 16 } : { rounds: 5, roundMs: 60 });
  return paths.flatMap(({ isa }): Figure[] => [
    race.time(`${isa} held`, `leading, ${isa}: all of a request is held`, 'ns/key'),
    race.time(`${isa} cold`, `leading, ${isa}: nothing is, cold filters`, 'ns/call'),
  ]);
}

/** All of it, as a caller of the library has it, against a package that does the same. */
export async function raceRival({ quick, check, note, progress }: ScenarioContext): Promise<Figure[]> {
  const createRival = await rivalFilter();
  if (createRival === undefined) {
    note('bloom-filters: left out, the package is not installed');
    return [];
  }
  progress('against bloom-filters');
  const keys = new Random(37).hashes(quick ? 200 : RIVAL_KEYS);
  const texts = Array.from(keys, String);
  const answers = new Uint8Array(keys.length);
  const builtRival = (): RivalFilter => {
    const filter = createRival(texts.length, TARGET_FPP);
    for (const text of texts) filter.add(text);
    return filter;
  };
  const filter = BloomFilter.of(keys, TARGET_FPP);
  const rival = builtRival();
  check(
    `bloom-filters finds its ${counted(texts.length, 'key')}, and so do we`,
    texts.every((text) => rival.has(text)) && filter.countBlocks(keys) === keys.length,
  );

  const operations = keys.length;
  const race = new Race(
    {
      rivalBuild: { operations, baseline: true, run: builtRival },
      rivalTest: { operations, baseline: true, run: () => texts.every((text) => rival.has(text)) },
      rival: {
        operations,
        baseline: true,
        run: () => {
          const built = builtRival();
          texts.every((text) => built.has(text));
        },
      },
      ours: { operations, run: () => BloomFilter.of(keys, TARGET_FPP).test(keys, answers) },
    },
    quick ? { rounds: 1, roundMs: 5, samples: 2 } : { rounds: 3, roundMs: 60 },
  );
  const size = `${grouped(keys.length)} keys`;
  return [
    {
      name: `${size}, build and test: bloom-filters ÷ BloomFilter`,
      unit: 'x',
      ...race.ratio('rival', 'ours'),
      target: { atLeast: 300 },
      better: 'higher',
    },
    race.time('ours', `${size}, BloomFilter: build and test`, 'ns/key'),
    race.time('rivalBuild', `${size}, bloom-filters: build`, 'ns/key'),
    race.time('rivalTest', `${size}, bloom-filters: test`, 'ns/key'),
  ];
}

function emptyWords(keys: number): Uint32Array<ArrayBuffer> {
  return new Uint32Array(WORDS_A_BLOCK * filterBlocks(keys, TARGET_FPP));
}
