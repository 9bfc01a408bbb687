import { type CoreIndex, MODE, RESULT_LENGTH, type Seam } from '../src/native/seam.js';
import { counted } from '../src/text.js';
import { openIndex, referenceSeam } from './backends.js';
import type { Figure } from './figures.js';
import type { ScenarioContext } from './harness.js';
import { makePrompts, rotating, storeArguments, wholePrompts } from './prompts.js';
import { Race } from './race.js';

/** The same queries through the same seam, at a size that the twin can hold. */
export async function raceTwin({ quick, check }: ScenarioContext, native: Seam): Promise<Figure[]> {
  const result = new Float64Array(RESULT_LENGTH);
  const prompts = makePrompts({ slots: 64, sessions: quick ? 8 : 128, blocks: 2818, shared: 500 });
  const reference = await referenceSeam();
  const [index, twin] = [native, reference].map((seam) => {
    const made = openIndex(seam, prompts.slots);
    for (const call of wholePrompts(prompts)) {
      const { slot, seq, parent } = storeArguments(prompts, call);
      made.store(slot, made.incarnation(slot), seq, parent, 0, result);
    }
    return made;
  }) as [CoreIndex, CoreIndex];
  const out = new Uint32Array(prompts.slots);
  const twinOut = new Uint32Array(prompts.slots);
  const equal = prompts.sessions.every((seq) => {
    index.overlap(seq, MODE.prefix, out);
    twin.overlap(seq, MODE.prefix, twinOut);
    return out.every((blocks, slot) => blocks === twinOut[slot]);
  });
  check(`index and Map twin give equal overlaps for all ${prompts.sessions.length} sessions`, equal);
  const race = new Race(
    {
      twin: {
        baseline: true,
        ...rotating(prompts, (seq) => twin.overlap(seq, MODE.prefix, twinOut)),
      },
      overlap: rotating(prompts, (seq) => index.overlap(seq, MODE.prefix, out)),
    },
    { rounds: quick ? 2 : 4, roundMs: quick ? 8 : 200, samples: 4 }, // of the twin, a burst takes tens of milliseconds
  );
  return [
    {
      name: `Map twin ÷ overlap, ${counted(prompts.blocks, 'block')}`,
      unit: 'x',
      ...race.ratio('twin', 'overlap'),
      better: 'higher',
      target: { atLeast: 100 },
    },
    race.time('twin', 'Map twin', 'µs/query'),
  ];
}
