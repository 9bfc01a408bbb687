// Router replicas in processes of their own, which know of the workers' caches what sketches tell them through Redis.
//
//   npm run example:two-routers
//
//   worker w0, w1: what the engine holds ─ SketchPublisher ─► Redis ─► SketchSubscriber ─ Router: A, B, and later C
//
// Shows, and ends with status 1 where it does not hold: two routers agree after one frame; a third that comes late catches up;
// while Redis is away they decide as fast as before; when it comes back empty they agree again.
import { Child } from './two-routers/child.js';
import { Redis } from './two-routers/redis.js';
import type { RouterMethods } from './two-routers/router.js';
import type { Conversation } from './two-routers/traffic.js';
import { BLOCK_SIZE, promptOf } from './two-routers/traffic.js';
import type { WorkerMethods } from './two-routers/worker.js';

const SESSIONS = 16;
/** Median decision while Redis is away, against before. */
const MOST_SLOWDOWN = 1.5;
const CONVERGES_WITHIN_MS = 20_000;

let failures = 0;
const redis = await Redis.start();
const { url } = redis;
const newRouter = (name: string) => new Child<RouterMethods>('router.js', [name, url, 'w0', 'w1']);
const workers = new Map(
  ['w0', 'w1'].map((name) => [name, new Child<WorkerMethods>('worker.js', [name, url])]),
);
const routers = new Map(['A', 'B'].map((name) => [name, newRouter(name)]));
console.log(`Redis at ${url}; workers w0 and w1; routers A and B\n`);

try {
  await publish();
  await agreed();
  await turns('A', 1, 'first turns, routed by A');
  const frames = await publish();
  await agreed();
  check(
    'A and B agree on both workers, one frame later',
    (await sequences()).every((told) => told.every((sequence, i) => sequence! >= frames[i]!)),
  );
  const { share, most } = await turns('B', 2, 'second turns, routed by B, which saw none of the first');
  check('B sent each session where it was', share === most);

  for (const { call } of workers.values()) await call.start(); // from now on a frame every 50 ms
  console.log('\nrouter C starts; workers send frames by themselves');
  const begin = performance.now();
  routers.set('C', newRouter('C'));
  await agreed();
  console.log(
    `  it knows what A and B know after ${ms(performance.now() - begin)}, start of its process included`,
  );

  const before = await decide();
  await redis.kill();
  console.log('\nRedis is killed; routers go on deciding, and workers serving');
  const [during] = await Promise.all([decide(), turns('A', 3, 'third turns, by what A knew before')]);
  const slowdown = during.medianUs / before.medianUs;
  console.log(
    `  a decision took ${before.medianUs.toFixed(0)} µs before, ${during.medianUs.toFixed(0)} µs now: ${slowdown.toFixed(2)} x ` +
      `(medians of ${before.decisions} and ${during.decisions})`,
  );
  check(`no more than ${MOST_SLOWDOWN} x`, slowdown <= MOST_SLOWDOWN);

  await redis.start();
  console.log('\nRedis is back, and empty; decisions go on');
  const load = decide();
  const back = performance.now();
  await agreed();
  console.log(`  A, B and C agree with the workers again after ${ms(performance.now() - back)}`);
  await load;
  await turns('C', 4, 'fourth turns, routed by C');
} catch (error) {
  check(String((error as Error).stack ?? error), false);
} finally {
  await Promise.all([...routers.values(), ...workers.values()].map((child) => child.stop()));
  await redis.stop();
}
console.log(failures === 0 ? '\nall of it held' : `\n${failures} did not hold`);
process.exitCode = failures === 0 ? 0 : 1;

function check(what: string, holds: boolean): void {
  if (!holds) failures += 1;
  console.log(`  ${holds ? '✓' : '✗ does not hold:'} ${what}`);
}

/** Every session's turn: the router decides, the worker serves. Answers the share of tokens that was cached, and could be. */
async function turns(router: string, turn: number, title: string): Promise<{ share: number; most: number }> {
  let [cached, before, all] = [0, 0, 0];
  const served = new Map<string, number>();
  for (let i = 0; i < SESSIONS; i++) {
    const session = `s${i}`;
    const conversation: Conversation = { session, turn };
    const { worker, cachedTokens, newTokens } = await routers.get(router)!.call.route(conversation);
    cached += await workers.get(worker)!.call.serve(promptOf(conversation));
    all += cachedTokens + newTokens;
    if (turn > 1) before += promptOf({ session, turn: turn - 1 }).length * BLOCK_SIZE;
    served.set(worker, (served.get(worker) ?? 0) + 1);
  }
  const [share, most] = [cached / all, before / all];
  const split = Array.from(served, ([worker, count]) => `${worker} ${count}`).toSorted();
  const could = turn > 1 ? `, of ${(100 * most).toFixed(1)} % that could be` : '';
  console.log(
    `${title}: ${split.join(', ')}; ${(100 * share).toFixed(1)} % of their tokens were cached${could}`,
  );
  return { share, most };
}

/** A frame of each worker; answers their sequence numbers. */
async function publish(): Promise<number[]> {
  const frames = await Promise.all([...workers.values()].map(({ call }) => call.publish()));
  return frames.map(({ sequence }) => sequence);
}

/** What each router heard last of each worker. */
async function sequences(): Promise<(number | undefined)[][]> {
  const told = await Promise.all([...routers.values()].map(({ call }) => call.sketches()));
  return told.map((sketches) => sketches.map(({ sequence }) => sequence));
}

/** Until every router knows of every worker what it holds, by equal bits. */
async function agreed(): Promise<void> {
  const deadline = performance.now() + CONVERGES_WITHIN_MS;
  for (;;) {
    const held = await Promise.all([...workers.values()].map(({ call }) => call.blocks()));
    const told = await Promise.all([...routers.values()].map(({ call }) => call.sketches()));
    const isAgreed = told.every((sketches) =>
      sketches.every(
        ({ blocks, digest, degraded }, i) =>
          blocks === held[i] && digest === told[0]![i]!.digest && degraded === undefined,
      ),
    );
    if (isAgreed) return;
    if (performance.now() > deadline) throw new Error(`no agreement: ${JSON.stringify({ held, told })}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function decide(): Promise<{ decisions: number; medianUs: number }> {
  return routers.get('A')!.call.decide(1500);
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`;
}
