import { RESULT_LENGTH } from '../src/native/seam.js';
import { counted } from '../src/text.js';
import { type BenchAddon, openIndex } from './backends.js';
import type { Figure } from './figures.js';
import { type Prompts, storeArguments, turnByTurn, wholePrompts } from './prompts.js';

/** So often on the way is looked at what is in use. */
const LOOKS = 64;
/** From so many blocks on: in a small index what it keeps at hand counts. */
const ENOUGH_BLOCKS = 1_000_000;

/**
 * What an index takes while it grows from nothing, each block with one holder but for the shared ones: the most that it has
 * from the allocator at any moment, also in the middle of a call, against what it has in the end.
 */
export function measureGrowth(addon: BenchAddon, prompts: Prompts): Figure[] {
  return (
    [
      ['whole prompts', wholePrompts],
      ['turn by turn', turnByTurn],
    ] as const
  ).flatMap(([layout, calls]) => grow(addon, prompts, layout, calls(prompts)));
}

function grow(
  addon: BenchAddon,
  prompts: Prompts,
  layout: string,
  calls: ReturnType<typeof wholePrompts>,
): Figure[] {
  const result = new Float64Array(RESULT_LENGTH);
  const before = addon.allocatedBytes?.() ?? 0;
  addon.restartPeak?.();
  const index = openIndex(addon, prompts.slots);
  const incarnations = Array.from({ length: prompts.slots }, (_, slot) => index.incarnation(slot));
  let reservedToUsed = 0;
  for (const [i, call] of calls.entries()) {
    const { slot, seq, parent } = storeArguments(prompts, call);
    index.store(slot, incarnations[slot]!, seq, parent, 0, result);
    if (i % Math.ceil(calls.length / LOOKS) > 0) continue;
    const { blocks, usedBytes, reservedBytes } = index.stats();
    if (blocks >= ENOUGH_BLOCKS) reservedToUsed = Math.max(reservedToUsed, reservedBytes / usedBytes);
  }
  const { blocks, usedBytes, reservedBytes } = index.stats();
  const name = `growing to ${counted(blocks, 'block')}, ${layout}`;
  const enough = blocks >= ENOUGH_BLOCKS;
  const figures: Figure[] = [
    {
      name: `${name}: used`,
      value: usedBytes / blocks,
      unit: 'bytes/block',
      better: 'lower',
      ...(enough && { target: { atMost: 24 } }),
    },
    {
      name: `${name}: reserved`,
      value: reservedBytes / blocks,
      unit: 'bytes/block',
      better: 'lower',
      ...(enough && { target: { atMost: 24 } }),
    },
  ];
  if (enough) figures.push({ name: `${name}: reserved ÷ used, at most`, value: reservedToUsed, unit: 'x' });
  if (addon.allocatedBytes !== undefined && addon.peakBytes !== undefined) {
    const peak = (addon.peakBytes() - before) / (addon.allocatedBytes() - before);
    figures.push({ name: `${name}: peak ÷ end`, value: peak, unit: 'x', target: { atMost: 1.5 } });
  }
  index.close();
  return figures;
}
