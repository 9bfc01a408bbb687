import { KvIndex } from '../../src/kv-index/kv-index.js';
import { benchAddon, nativeSeam, openIndex } from '../backends.js';
import { type Figure, Race, type Rival, runScenario } from '../harness.js';

const SLOTS = 64;
/** Of a sample: one call is shorter than what the clock tells apart. */
const CALLS = 1_000;
const PREFIX = 0;

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

  // Each has a loop of its own: a shared one would reach them through one more call.
  const rivals = {
    javascript: () => {
      for (let i = 0; i < CALLS; i++) EMPTIES[i % EMPTIES.length]!(seq, out);
    },
    empty: () => {
      for (let i = 0; i < CALLS; i++) addon.emptyCall();
    },
    arrays: () => {
      for (let i = 0; i < CALLS; i++) addon.twoArrays(seq, out);
    },
    newArgument: () => {
      for (let i = 0; i < CALLS; i++) addon.twoArrays(seq, new Uint32Array(SLOTS));
    },
    newResult: () => {
      for (let i = 0; i < CALLS; i++) addon.freshArray(seq);
    },
    core: () => {
      for (let i = 0; i < CALLS; i++) core.overlap(nothing, PREFIX, out);
    },
    public: () => {
      for (let i = 0; i < CALLS; i++) index.overlap(nothing, options);
    },
    publicNew: () => {
      for (let i = 0; i < CALLS; i++) index.overlap(nothing);
    },
  };
  type Call = keyof typeof rivals;
  const race = new Race<Call>(
    Object.fromEntries(
      Object.entries(rivals).map(([name, run]) => [name, { operations: CALLS, run }]),
    ) as Record<Call, Rival>,
    { rounds: quick ? 2 : 10, roundMs: quick ? 15 : 150 },
  );
  const time = (call: Call, name: string): Figure => ({ name, value: race.medianNs(call), unit: 'ns/call' });
  const ratio = (a: Call, b: Call, name: string): Figure => ({ name, unit: 'x', ...race.ratio(a, b) });
  return [
    time('javascript', 'an empty JavaScript call'),
    time('empty', 'an empty native call'),
    time('arrays', 'two typed arrays'),
    time('newArgument', 'two typed arrays, one of them new'),
    time('newResult', 'one typed array in, a new one out'),
    time('core', "the core's overlap of an empty prompt"),
    time('public', 'KvIndex.overlap of an empty prompt, given `out`'),
    time('publicNew', 'KvIndex.overlap of an empty prompt, without `out`'),
    ratio('empty', 'javascript', 'an empty native call ÷ JavaScript'),
    ratio('arrays', 'empty', 'two typed arrays ÷ an empty native call'),
    ratio('public', 'core', "KvIndex.overlap, given `out` ÷ the core's"),
  ];
});
