import { setImmediate as nextTurn } from 'node:timers/promises';
import { KvIndex } from '../src/kv-index/index.js';
import { memoryTransport, residentOf, SketchPublisher, SketchSubscriber } from '../src/sketch/index.js';
import { grouped } from '../src/text.js';
import type { Figure } from './figures.js';
import type { ScenarioContext } from './harness.js';
import { timesFigure } from './race.js';
import { Random } from './random.js';
import { slowedDown } from './slowdown.js';

const WORKER = 'w0';
const PROMPT_BLOCKS = 1000;

/** What a frame costs its publisher, and a router that joins. In memory: the way to another machine adds to it. */
export async function measureJoins(context: ScenarioContext): Promise<Figure[]> {
  const [few, many] = context.quick ? [3, 2] : [60, 10];
  return [
    ...(await measureWorker(context, 17_000, few)),
    ...(await measureWorker(context, context.quick ? 50_000 : 1_000_000, many)),
  ];
}

async function measureWorker(
  { check, progress }: ScenarioContext,
  blocks: number,
  times: number,
): Promise<Figure[]> {
  const size = `a worker of ${grouped(blocks)} blocks`;
  progress(size);
  const index = new KvIndex();
  const handle = index.addWorker(WORKER);
  const random = new Random(43);
  for (let left = blocks; left > 0; left -= PROMPT_BLOCKS) index.store(handle, random.hashes(PROMPT_BLOCKS));
  const resident = index.enumerate(handle);
  const transport = memoryTransport();
  const publisher = new SketchPublisher({ transport, worker: WORKER, resident: residentOf(index, handle) });

  const ms = { full: [] as number[], delta: [] as number[], join: [] as number[] };
  let fullBytes = 0;
  let isComplete = resident.length === blocks;
  for (let i = 0; i < times; i++) {
    let start = performance.now();
    fullBytes = (await publisher.publish({ full: true })).bytes;
    ms.full.push(slowedDown(start, performance.now()) - start);
    start = performance.now();
    await publisher.publish();
    ms.delta.push(slowedDown(start, performance.now()) - start);
    start = performance.now();
    const subscriber = new SketchSubscriber({ transport });
    const followed = subscriber.follow(WORKER);
    while (followed.sketch === undefined) await nextTurn();
    ms.join.push(slowedDown(start, performance.now()) - start);
    isComplete &&= followed.countBlocks(resident) === blocks;
    await subscriber.close();
  }
  check(`${size}: who joins knows them all`, isComplete);
  await publisher.close();
  await transport.close();
  index.close();
  return [
    { name: `${size}: full frame`, value: fullBytes / blocks, unit: 'bytes/block', better: 'lower' },
    timesFigure(`${size}: a full frame, made and sent`, 'ms', ms.full, 'lower'),
    timesFigure(`${size}: a delta of nothing new, made and sent`, 'ms', ms.delta, 'lower'),
    timesFigure(`${size}: a replica joins`, 'ms', ms.join, 'lower'),
  ];
}
