import { basename } from 'node:path';
import { benchAddon, nativeSeam } from '../backends.js';
import type { Figure } from '../figures.js';
import { runScenario } from '../harness.js';
import { Books, layouts } from '../memory-books.js';
import { readRequests } from '../requests.js';

const SLOTS = 8;

await runScenario('memory', async ({ quick, trace, note, check, progress }) => {
  const addon = benchAddon();
  if (addon.allocatedBytes === undefined)
    note('allocator ÷ reserved is left out: only on Linux can it be asked');
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
  return figures;
});
