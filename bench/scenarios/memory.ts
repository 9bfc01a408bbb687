import { basename } from 'node:path';
import { grouped } from '../../src/text.js';
import { type BenchAddon, benchAddon, countKvIndexes, nativeSeam } from '../backends.js';
import type { Figure } from '../figures.js';
import { measureGrowth } from '../growth.js';
import { runScenario } from '../harness.js';
import { Books, layouts } from '../memory-books.js';
import { makePrompts } from '../prompts.js';
import { readRequests } from '../requests.js';
import { raceSnapshots } from '../snapshot-speed.js';
import { measureSteadyQueries } from '../steady-queries.js';

const SLOTS = 8;

await runScenario('memory', async (context) => {
  const { quick, trace, note, check, progress } = context;
  const addon = benchAddon();
  if (addon.allocatedBytes === undefined)
    note('what the allocator gave is left out: only on Linux can it be asked');
  const requests = await readRequests(trace, nativeSeam(), { slots: SLOTS, ...(quick ? { most: 700 } : {}) });
  const figures: Figure[] = [];
  for (const [name, fill] of Object.entries(layouts)) {
    progress(`${basename(trace)}, ${name}`);
    const books = new Books(addon, name);
    const { index } = fill(requests, books);
    const broken = index.validate();
    check(`${name}: validate finds ${broken || 'nothing'}`, broken === '');
    index.close();
    figures.push(...books.figures);
  }

  const prompts = makePrompts({ slots: 64, sessions: quick ? 32 : 2000, blocks: 2818, shared: 500 });
  progress('growing');
  figures.push(...measureGrowth(addon, prompts));
  progress('snapshots');
  figures.push(...raceSnapshots(context, prompts));
  progress('queries without end');
  countKvIndexes();
  figures.push(...steadyFigures(addon, quick ? 50_000 : 1_000_000));
  return figures;
});

function steadyFigures(addon: BenchAddon, queries: number): Figure[] {
  const { heapBytes, allocations } = measureSteadyQueries(addon, queries);
  const name = `${grouped(queries)} queries`;
  const heap: Figure = {
    name: `${name}: growth of the JavaScript heap`,
    value: heapBytes / 2 ** 20,
    unit: 'MB',
    target: { atLeast: -1, atMost: 1 },
  };
  if (allocations === undefined) return [heap];
  return [
    heap,
    {
      name: `${name}: times that the core asked for memory`,
      value: allocations,
      unit: 'times',
      target: { atMost: 0 },
    },
  ];
}
