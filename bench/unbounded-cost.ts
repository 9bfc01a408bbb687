import { type CoreIndex, MODE, RESULT_LENGTH, type Seam } from '../src/native/seam.js';
import { openIndex, unboundedSeam } from './backends.js';
import type { Figure } from './figures.js';
import type { ScenarioContext } from './harness.js';
import {
  makePrompts,
  type Prompts,
  rotating,
  type StoreCall,
  storeArguments,
  turnByTurn,
} from './prompts.js';
import { elapsedNs, Race, ratioOf, timesFigure } from './race.js';

const SLOTS = 64;
/** Calls timed at once: a call alone is as short as the clock is coarse. */
const BATCH = 64;

type Backend = Pick<Seam, 'createIndex'>;

/**
 * What slots without a bound pay for the machinery of bounds: the addon against the same sources compiled without it, on
 * the prompts of the `index` scenario, turn by turn.
 */
export function raceWithoutBounds(
  { quick, check, note }: ScenarioContext,
  native: Backend,
): readonly Figure[] {
  const bare = unboundedSeam();
  if (bare === undefined) {
    note('unbounded slots: not compared, kvidx_unbounded.node was not built (npm run build:native)');
    return [];
  }
  const prompts = makePrompts({
    slots: SLOTS,
    sessions: quick ? 64 : 1000,
    blocks: quick ? 700 : 2818,
    shared: 500,
  });
  const calls = turnByTurn(prompts);
  const { withNs, withoutNs, withBounds, without } = buildBoth(native, bare, prompts, calls, quick ? 1 : 3);

  const out = new Uint32Array(SLOTS);
  const bareOut = new Uint32Array(SLOTS);
  check(
    `unbounded slots, ${prompts.blocks} blocks: equal overlaps with and without the machinery of bounds`,
    prompts.sessions.every((seq) => {
      withBounds.overlap(seq, MODE.prefix, out);
      without.overlap(seq, MODE.prefix, bareOut);
      return out.every((blocks, slot) => blocks === bareOut[slot]);
    }),
  );
  const race = new Race(
    {
      withBounds: rotating(prompts, (seq) => withBounds.overlap(seq, MODE.prefix, out)),
      without: {
        ...rotating(prompts, (seq) => without.overlap(seq, MODE.prefix, bareOut)),
        baseline: true,
      },
    },
    { rounds: quick ? 2 : 5, roundMs: quick ? 20 : 200 },
  );
  withBounds.close();
  without.close();
  const target = { atMost: 1.1 };
  return [
    {
      name: 'unbounded slots: store ÷ without the machinery',
      unit: 'x',
      ...ratioOf(withNs, withoutNs),
      target,
      better: 'lower',
    },
    {
      name: 'unbounded slots: overlap ÷ without the machinery',
      unit: 'x',
      ...race.ratio('withBounds', 'without'),
      target,
      better: 'lower',
    },
    timesFigure('unbounded slots: store', 'ns/block', withNs, 'lower'),
    race.time('withBounds', 'unbounded slots: overlap', 'µs'),
  ];
}

/** Builds both several times, batch by batch in turns; the last pair stays. */
function buildBoth(
  native: Backend,
  bare: Backend,
  prompts: Prompts,
  calls: readonly StoreCall[],
  rounds: number,
) {
  const withNs: number[] = [];
  const withoutNs: number[] = [];
  const stored = calls.reduce((sum, { from, to }) => sum + to - from, 0);
  for (;;) {
    const withBounds = openIndex(native, SLOTS);
    const without = openIndex(bare, SLOTS);
    const [storeWith, storeWithout] = [withBounds, without].map((index) => storing(index));
    let nsWith = 0;
    let nsWithout = 0;
    for (let from = 0; from < calls.length; from += BATCH) {
      const batch = calls.slice(from, from + BATCH).map((call) => storeArguments(prompts, call));
      const first = (from / BATCH) % 2 === 0;
      if (first) nsWith += elapsedNs(() => storeWith!(batch));
      nsWithout += elapsedNs(() => storeWithout!(batch), { baseline: true });
      if (!first) nsWith += elapsedNs(() => storeWith!(batch));
    }
    withNs.push(nsWith / stored);
    withoutNs.push(nsWithout / stored);
    if (withNs.length === rounds) return { withNs, withoutNs, withBounds, without };
    withBounds.close();
    without.close();
  }
}

function storing(index: CoreIndex): (batch: readonly ReturnType<typeof storeArguments>[]) => void {
  const result = new Float64Array(RESULT_LENGTH);
  const incarnations = Uint32Array.from({ length: SLOTS }, (_, slot) => index.incarnation(slot));
  return (batch) => {
    for (const { slot, seq, parent } of batch) index.store(slot, incarnations[slot]!, seq, parent, 0, result);
  };
}
