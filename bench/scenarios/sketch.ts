import { basename } from 'node:path';
import { nativeSeam, referenceSeam } from '../backends.js';
import { runScenario } from '../harness.js';
import { readRequests } from '../requests.js';
import { measureRates } from '../sketch-accuracy.js';
import { replayExchange } from '../sketch-exchange.js';
import { measureJoins } from '../sketch-join.js';
import { compareOverlaps } from '../sketch-overlap.js';
import { raceRival, raceSpeed } from '../sketch-speed.js';

const WORKERS = 8;

await runScenario('sketch', async (context) => {
  const { quick, trace, progress } = context;
  const native = nativeSeam();
  const [wasm] = (await referenceSeam()).bloomPaths;
  const requests = await readRequests(trace, native, { slots: WORKERS, ...(quick ? { most: 100 } : {}) });
  const figures = [
    ...raceSpeed(context, native.bloomPaths, wasm!),
    ...(await raceRival(context)),
    ...measureRates(context),
  ];
  progress(`${basename(trace)}: overlaps by sketch and exact`);
  figures.push(...compareOverlaps(context, requests));
  figures.push(...(await replayExchange(context, requests)), ...(await measureJoins(context)));
  return figures;
});
