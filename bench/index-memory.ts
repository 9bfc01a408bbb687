import { type CoreIndex, RESULT_LENGTH, type Seam } from '../src/native/seam.js';
import { openIndex } from './backends.js';
import type { Figure } from './figures.js';
import { Random } from './random.js';

export function residencyMemory(index: CoreIndex): Figure[] {
  const { blocks, usedBytes, reservedBytes, runs } = index.stats();
  const unit = 'bytes/block';
  const target = { atMost: 24 };
  return [
    { name: 'used, one holder', value: usedBytes / blocks, unit, better: 'lower', target },
    { name: 'reserved, one holder', value: reservedBytes / blocks, unit, better: 'lower', target },
    { name: 'blocks a run', value: blocks / runs, unit: 'blocks' },
  ];
}

export function ownershipMemory(index: CoreIndex): Figure[] {
  const { blocks, ownershipBytes, sessions } = index.stats();
  return [
    { name: 'ownership', value: ownershipBytes / blocks, unit: 'bytes/block', better: 'lower' },
    { name: 'ownership', value: ownershipBytes / sessions, unit: 'bytes/session', better: 'lower' },
  ];
}

/** Runs of one turn's length, held by one slot; then by 15 more, the whole run or a prefix of it. */
export function furtherHolders(native: Seam, runs: number): Figure[] {
  const result = new Float64Array(RESULT_LENGTH);
  const slots = 16;
  const blocks = 36;
  const random = new Random(13);
  const prompts = Array.from({ length: runs }, () => random.hashes(blocks));
  const cost = (held: number): number => {
    const index = openIndex(native, slots);
    for (const seq of prompts) index.store(0, index.incarnation(0), seq, undefined, 0, result);
    const before = index.stats();
    for (let slot = 1; slot < slots; slot++) {
      for (const seq of prompts)
        index.store(slot, index.incarnation(slot), seq.subarray(0, held), undefined, 0, result);
    }
    const after = index.stats();
    index.close();
    return (after.usedBytes - before.usedBytes) / (after.runHolders - before.runHolders);
  };
  const unit = 'bytes/(run, holder)';
  return [
    {
      name: 'further holder of a whole run',
      value: cost(blocks),
      unit,
      better: 'lower',
      target: { atMost: 16 },
    },
    {
      name: 'further holder of half a run',
      value: cost(blocks / 2),
      unit,
      better: 'lower',
      target: { atMost: 16 },
    },
  ];
}
