import { type CoreIndex, RESULT_LENGTH, type Seam } from '../src/native/seam.js';
import { benchAddon, type FlatTable, openIndex } from './backends.js';
import type { Figure } from './figures.js';
import { type Prompts, type StoreCall, storeArguments } from './prompts.js';
import { elapsedNs, timesFigure } from './race.js';

export interface Built {
  readonly index: CoreIndex;
  readonly flat: FlatTable;
  readonly store: Figure[];
}

/** Builds both, call by call in turns, several times; the last pair stays. */
export function buildBoth(
  native: Seam,
  prompts: Prompts,
  calls: readonly StoreCall[],
  rounds: number,
): Built {
  const result = new Float64Array(RESULT_LENGTH);
  const nsABlock = { index: [] as number[], flat: [] as number[] };
  const ratios: number[] = [];
  for (let round = 1; ; round++) {
    const index = openIndex(native, prompts.slots);
    const flat = benchAddon().createFlatTable();
    let indexNs = 0;
    let flatNs = 0;
    for (const [i, call] of calls.entries()) {
      const { slot, seq, parent } = storeArguments(prompts, call);
      const flatFirst = i % 2 === 0;
      const insert = () => elapsedNs(() => flat.insert(slot, seq), { baseline: true });
      if (flatFirst) flatNs += insert();
      indexNs += elapsedNs(() => void index.store(slot, index.incarnation(slot), seq, parent, 0, result));
      if (!flatFirst) flatNs += insert();
    }
    const stored = calls.reduce((sum, { from, to }) => sum + to - from, 0);
    nsABlock.index.push(indexNs / stored);
    nsABlock.flat.push(flatNs / stored);
    ratios.push(indexNs / flatNs);
    if (round < rounds) {
      index.close();
      continue;
    }
    const store: Figure[] = [
      { ...timesFigure('store ÷ flat insert', 'x', ratios, 'lower'), target: { atMost: 1.5 } },
      timesFigure('store', 'ns/block', nsABlock.index, 'lower'),
      { ...timesFigure('flat insert', 'ns/block', nsABlock.flat, 'lower'), baseline: true },
    ];
    return { index, flat, store };
  }
}
