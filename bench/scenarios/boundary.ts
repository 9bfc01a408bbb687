import { KvIndex } from '../../src/kv-index/kv-index.js';
import { MODE } from '../../src/native/seam.js';
import { benchAddon, nativeSeam, openIndex } from '../backends.js';
import { type Figure, uncompared } from '../figures.js';
import { runScenario } from '../harness.js';
import { Race } from '../race.js';

const SLOTS = 64;
/** Of a sample: one call is shorter than what the clock tells apart. */
const CALLS = 1_000;

/** Several, called in turns, so that the compiler cannot put their bodies where they are called. */
const EMPTIES: readonly ((seq: BigUint64Array, out: Uint32Array) => void)[] = [
  () => {},
  () => {},
  () => {},
  () => {},
];

await runScenario('boundary', ({ quick, check }) => {
  const addon = benchAddon();
  const core = openIndex(nativeSeam(), SLOTS);
  const index = new KvIndex();
  for (let worker = 0; worker < SLOTS; worker++) index.addWorker(`w${worker}`);
  const seq = BigUint64Array.from({ length: SLOTS }, (_, i) => BigInt(i));
  const nothing = new BigUint64Array(0);
  const out = new Uint32Array(SLOTS);
  const options = { out };

  const overlaps = [index.overlap(nothing), index.overlap(nothing, { out: out.fill(1) })];
  check(
    `an empty prompt overlaps with none of ${SLOTS} slots`,
    overlaps.every((each) => each.length === SLOTS && each.every((n) => n === 0)),
  );
  const copy = addon.freshArray(seq);
  check('a new array has what it was made of', copy !== seq && copy.every((hash, i) => hash === seq[i]));

  const race = new Race(
    {
      // Each has a loop of its own: one for all would reach them through one more call.
      javascript: {
        operations: CALLS,
        baseline: true,
        run: () => {
          for (let i = 0; i < CALLS; i++) EMPTIES[i % EMPTIES.length]!(seq, out);
        },
      },
      empty: {
        operations: CALLS,
        run: () => {
          for (let i = 0; i < CALLS; i++) addon.emptyCall();
        },
      },
      arrays: {
        operations: CALLS,
        run: () => {
          for (let i = 0; i < CALLS; i++) addon.twoArrays(seq, out);
        },
      },
      newArgument: {
        operations: CALLS,
        run: () => {
          for (let i = 0; i < CALLS; i++) addon.twoArrays(seq, new Uint32Array(SLOTS));
        },
      },
      newResult: {
        operations: CALLS,
        run: () => {
          for (let i = 0; i < CALLS; i++) addon.freshArray(seq);
        },
      },
      core: {
        operations: CALLS,
        run: () => {
          for (let i = 0; i < CALLS; i++) core.overlap(nothing, MODE.prefix, out);
        },
      },
      public: {
        operations: CALLS,
        run: () => {
          for (let i = 0; i < CALLS; i++) index.overlap(nothing, options);
        },
      },
      publicNew: {
        operations: CALLS,
        run: () => {
          for (let i = 0; i < CALLS; i++) index.overlap(nothing);
        },
      },
    },
    { rounds: quick ? 2 : 5, roundMs: quick ? 15 : 150 },
  );
  return [
    race.time('javascript', 'an empty JavaScript call', 'ns/call'),
    race.time('empty', 'an empty native call', 'ns/call'),
    race.time('arrays', 'two typed arrays', 'ns/call'),
    uncompared(race.time('newArgument', 'two typed arrays, one of them new', 'ns/call')),
    uncompared(race.time('newResult', 'one typed array in, a new one out', 'ns/call')),
    race.time('core', "the core's overlap of an empty prompt", 'ns/call'),
    race.time('public', 'KvIndex.overlap of an empty prompt, given `out`', 'ns/call'),
    uncompared(race.time('publicNew', 'KvIndex.overlap of an empty prompt, without `out`', 'ns/call')),
    {
      name: 'an empty native call ÷ JavaScript',
      unit: 'x',
      better: 'lower',
      ...race.ratio('empty', 'javascript'),
    },
    { name: 'two typed arrays ÷ an empty native call', unit: 'x', ...race.ratio('arrays', 'empty') },
    {
      name: "KvIndex.overlap, given `out` ÷ the core's",
      unit: 'x',
      better: 'lower',
      ...race.ratio('public', 'core'),
    },
  ] satisfies Figure[];
});
