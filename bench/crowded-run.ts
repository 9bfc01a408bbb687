import { MODE, RESULT_LENGTH, type Seam } from '../src/native/seam.js';
import { counted } from '../src/text.js';
import { openIndex } from './backends.js';
import type { Figure } from './figures.js';
import type { ScenarioContext } from './harness.js';
import { Race } from './race.js';
import { Random } from './random.js';

const SLOTS = 64;
const BLOCKS = 2818;
const MAX_OWNERS = 8;

/**
 * The worst run for ownership: every slot holds it whole, and many sessions own it, each to a depth of its own, so that
 * the number of owners changes every few blocks.
 */
export function raceCrowdedRun({ quick, check }: ScenarioContext, native: Seam): Figure[] {
  const sessions = quick ? 100 : 1000;
  const result = new Float64Array(RESULT_LENGTH);
  const seq = new Random(19).hashes(BLOCKS);
  const depths = Array.from({ length: sessions }, (_, i) => Math.ceil(((i + 1) / sessions) * BLOCKS));
  const index = openIndex(native, SLOTS);
  for (let slot = 0; slot < SLOTS; slot++)
    index.store(slot, index.incarnation(slot), seq, undefined, 0, result);
  for (const depth of depths) index.own(0, seq.subarray(0, depth), 0, result);
  const deepest = index.sessionNumbers().at(-1)!;

  const out = new Uint32Array(SLOTS);
  const fair = new Float64Array(SLOTS);
  const rivals = {
    overlap: { run: () => index.overlap(seq, MODE.prefix, out) },
    exclusive: { run: () => index.exclusiveOverlap(deepest, seq, MODE.prefix, MAX_OWNERS, out) },
    fair: { run: () => index.fairOverlap(seq, fair) },
  };
  rivals.exclusive.run();
  const lastEight = BLOCKS - depths.at(-1 - MAX_OWNERS)!;
  check(
    `a run of ${counted(sessions, 'owner')}: up to ${MAX_OWNERS} own its last ${lastEight} blocks`,
    out.every((blocks) => blocks === lastEight),
  );
  const race = new Race(rivals, quick ? { rounds: 2, roundMs: 8, samples: 16 } : { rounds: 5, roundMs: 100 });
  index.close();
  const name = `a run of ${counted(sessions, 'owner')} and ${SLOTS} holders`;
  return [
    { name: `${name}: fair ÷ overlap`, unit: 'x', ...race.ratio('fair', 'overlap'), better: 'lower' },
    {
      name: `${name}: exclusive (m = ${MAX_OWNERS}) ÷ overlap`,
      unit: 'x',
      ...race.ratio('exclusive', 'overlap'),
      better: 'lower',
    },
    race.time('overlap', `${name}: overlap`, 'µs/query'),
  ];
}
