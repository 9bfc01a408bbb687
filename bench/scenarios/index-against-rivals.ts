import { type CoreIndex, MODE } from '../../src/native/seam.js';
import { type FlatTable, nativeSeam } from '../backends.js';
import { buildBoth } from '../build-both.js';
import { raceFanOut } from '../fan-out.js';
import type { Figure } from '../figures.js';
import { runScenario, type ScenarioContext } from '../harness.js';
import { furtherHolders, ownershipMemory, residencyMemory } from '../index-memory.js';
import { raceManyRequests } from '../many-requests.js';
import { raceTwin } from '../map-twin.js';
import { ownAll } from '../owned-prompts.js';
import { makePrompts, type Prompts, rotating, turnByTurn, wholePrompts } from '../prompts.js';
import { raceShapes } from '../query-shapes.js';
import { Race } from '../race.js';

await runScenario('index', async (context) => {
  const { quick, progress } = context;
  const native = nativeSeam();
  const sizes = { slots: 64, sessions: quick ? 96 : 2000, blocks: 2818, shared: 500 };
  const prompts = makePrompts(sizes);
  const figures: Figure[] = [
    { name: 'blocks in the index', value: prompts.blocks, unit: 'blocks' },
    { name: 'blocks a query', value: sizes.blocks, unit: 'blocks' },
  ];

  for (const [layout, calls] of [
    ['whole prompts', wholePrompts(prompts)],
    ['turn by turn', turnByTurn(prompts)],
  ] as const) {
    progress(`storing ${layout}, ${calls.length} calls`);
    const { index, flat, store } = buildBoth(native, prompts, calls, quick ? 1 : 3);
    const residency = residencyMemory(index);
    progress(`querying ${layout}`);
    const queries = raceQueries(context, layout, prompts, index, flat);
    ownAll(index, prompts, calls);
    const all = [...queries, ...store, ...residency, ...ownershipMemory(index)];
    figures.push(...all.map((figure) => ({ ...figure, name: `${layout}: ${figure.name}` })));
    index.close();
  }

  progress('querying indexes of other shapes');
  figures.push(...raceShapes(context, native, prompts), ...raceFanOut(context, native));
  figures.push(...raceManyRequests(context, native));
  progress('querying the Map twin');
  figures.push(...(await raceTwin(context, native)));
  figures.push(...furtherHolders(native, quick ? 500 : 5000));
  return figures;
});

function raceQueries(
  { quick, check }: ScenarioContext,
  layout: string,
  prompts: Prompts,
  index: CoreIndex,
  flat: FlatTable,
): Figure[] {
  const out = new Uint32Array(prompts.slots);
  const flatOut = new Uint32Array(prompts.slots);
  const equal = prompts.sessions.every((seq) => {
    index.overlap(seq, MODE.prefix, out);
    flat.overlap(seq, flatOut);
    return out.every((blocks, slot) => blocks === flatOut[slot]);
  });
  check(
    `${layout}: index and flat table give equal overlaps for all ${prompts.sessions.length} sessions`,
    equal,
  );
  const race = new Race(
    {
      flat: { baseline: true, ...rotating(prompts, (seq) => flat.overlap(seq, flatOut)) },
      overlap: rotating(prompts, (seq) => index.overlap(seq, MODE.prefix, out)),
    },
    quick ? { rounds: 2, roundMs: 8, samples: 16 } : { rounds: 5, roundMs: 100 },
  );
  return [
    {
      name: 'flat table ÷ overlap',
      unit: 'x',
      ...race.ratio('flat', 'overlap'),
      better: 'higher',
      target: { atLeast: 20 },
    },
    race.time('overlap', 'overlap', 'µs/query'),
    race.time('flat', 'flat table', 'µs/query'),
  ];
}
