import { type CoreIndex, MODE, RESULT_LENGTH } from '../../src/native/seam.js';
import { nativeSeam, openIndex } from '../backends.js';
import { raceCrowdedRun } from '../crowded-run.js';
import type { Figure } from '../figures.js';
import { runScenario, type ScenarioContext } from '../harness.js';
import { ownAll } from '../owned-prompts.js';
import { makePrompts, type Prompts, rotating, storeArguments, turnByTurn, wholePrompts } from '../prompts.js';
import { Race } from '../race.js';

await runScenario('exclusive', (context) => {
  const { quick, progress } = context;
  const native = nativeSeam();
  const prompts = makePrompts({ slots: 64, sessions: quick ? 96 : 2000, blocks: 2818, shared: 500 });
  const figures: Figure[] = [{ name: 'blocks in the index', value: prompts.blocks, unit: 'blocks' }];
  const result = new Float64Array(RESULT_LENGTH);
  for (const [layout, calls] of [
    ['whole prompts', wholePrompts(prompts)],
    ['turn by turn', turnByTurn(prompts)],
  ] as const) {
    progress(`storing and owning ${layout}, ${calls.length} calls`);
    const index = openIndex(native, prompts.slots);
    for (const call of calls) {
      const { slot, seq, parent } = storeArguments(prompts, call);
      index.store(slot, index.incarnation(slot), seq, parent, 0, result);
    }
    const owners = ownAll(index, prompts, calls);
    progress(`querying ${layout}`);
    const queries = raceOwned(context, layout, prompts, index, owners);
    figures.push(...queries.map((figure) => ({ ...figure, name: `${layout}: ${figure.name}` })));
    index.close();
  }
  return [...figures, ...raceCrowdedRun(context, native)];
});

/** What ownership adds to a query. */
function raceOwned(
  { quick, check }: ScenarioContext,
  layout: string,
  prompts: Prompts,
  index: CoreIndex,
  owners: Uint32Array,
): Figure[] {
  const out = new Uint32Array(prompts.slots);
  const fair = new Float64Array(prompts.slots);
  const exclusive = prompts.sessions.every((seq, session) => {
    index.exclusiveOverlap(owners[session]!, seq, MODE.prefix, 1, out);
    return out.every(
      (blocks, slot) => blocks === (slot === session % prompts.slots ? seq.length - prompts.shared : 0),
    );
  });
  check(`${layout}: exclusive overlap of every session is its own blocks on its own slot`, exclusive);
  const race = new Race(
    {
      overlap: rotating(prompts, (seq) => index.overlap(seq, MODE.prefix, out)),
      exclusive: rotating(prompts, (seq, session) =>
        index.exclusiveOverlap(owners[session]!, seq, MODE.prefix, 1, out),
      ),
      fair: rotating(prompts, (seq) => index.fairOverlap(seq, fair)),
    },
    quick ? { rounds: 2, roundMs: 8, samples: 16 } : { rounds: 5, roundMs: 200 },
  );
  const target = { atMost: 1.3 };
  return [
    {
      name: 'exclusive ÷ overlap',
      unit: 'x',
      ...race.ratio('exclusive', 'overlap'),
      better: 'lower',
      target,
    },
    { name: 'fair ÷ overlap', unit: 'x', ...race.ratio('fair', 'overlap'), better: 'lower', target },
    race.time('overlap', 'overlap', 'µs/query'),
    race.time('exclusive', 'exclusive overlap', 'µs/query'),
    race.time('fair', 'fair overlap', 'µs/query'),
  ];
}
