import { basename } from 'node:path';
import type { Seam } from '../../src/native/seam.js';
import { counted } from '../../src/text.js';
import { nativeSeam, referenceSeam } from '../backends.js';
import type { Figure } from '../figures.js';
import { Fleet, replay, replayPinned } from '../fleet.js';
import { runScenario, type ScenarioContext } from '../harness.js';
import { elapsedNs, ratioOf, timesFigure } from '../race.js';
import { type Requests, readRequests } from '../requests.js';
import { median } from '../statistics.js';
import { raceWithoutBounds } from '../unbounded-cost.js';

const SLOTS = 8;

type Replay = typeof replay;

await runScenario('ingest', async (context) => {
  const { quick, trace, progress } = context;
  const native = nativeSeam();
  const reference = await referenceSeam();
  const most = quick ? { most: 150 } : {};
  const requests = await readRequests(trace, native, { slots: SLOTS, ...most });

  progress('unbounded slots, with and without the machinery of bounds');
  const unbounded = raceWithoutBounds(context, native);

  progress(`${basename(trace)}: once through both backends`);
  const { blocks } = requests;
  compareAnswers(context, trace, native, reference, requests);
  const figures: Figure[] = [
    { name: 'requests', value: requests.all.length, unit: 'requests' },
    { name: 'blocks named', value: blocks, unit: 'blocks' },
    { name: 'capacity of each slot', value: requests.capacity, unit: 'blocks' },
  ];
  for (const [name, body, target] of [
    ['store and own', replay, { target: { atLeast: 20 } }],
    ['pins around them', replayPinned, {}],
  ] as const) {
    progress(`${name}: timing`);
    const rounds = takeTurns(native, reference, requests, body, quick ? 1 : 3);
    const nativeNs = rounds.map((round) => round.nativeNs);
    const referenceNs = rounds.map((round) => round.referenceNs);
    const time = (backend: string, ns: number[]): Figure =>
      timesFigure(
        `${name}: ${backend}`,
        'ns/block',
        ns.map((each) => each / blocks),
        'lower',
      );
    const rate = (backend: string, ns: number[]): Figure =>
      timesFigure(
        `${name}: ${backend}`,
        'requests/s',
        ns.map((each) => (requests.all.length * 1e9) / each),
        'higher',
      );
    const { hits, evicted } = rounds[0]!;
    figures.push(
      {
        name: `${name}: reference ÷ native`,
        unit: 'x',
        ...ratioOf(referenceNs, nativeNs),
        ...target,
        better: 'higher',
      },
      time('native', nativeNs),
      { ...time('reference', referenceNs), baseline: true },
      rate('native', nativeNs),
      { ...rate('reference', referenceNs), baseline: true },
      { name: `${name}: hit rate`, value: (100 * hits) / blocks, unit: '%' },
      { name: `${name}: evicted`, value: evicted, unit: 'blocks' },
    );
  }
  return [...figures, ...unbounded];
});

/** Both backends, request by request; the warm-up of both. */
function compareAnswers(
  { check }: ScenarioContext,
  trace: string,
  native: Seam,
  reference: Seam,
  requests: Requests,
): void {
  const fleets = [new Fleet(native, requests), new Fleet(reference, requests)] as const;
  const [fast, slow] = fleets;
  let equal = true;
  for (const request of requests.all) {
    for (const fleet of fleets) fleet.ask(request);
    equal &&= same(fast.overlaps, slow.overlaps);
    for (const fleet of fleets) {
      fleet.store(request);
      fleet.own(request);
    }
    equal &&= same(fast.stored, slow.stored);
  }
  check(
    `${basename(trace)}: both backends give equal overlaps and results for ${counted(requests.all.length, 'request')} ` +
      `on ${SLOTS} slots of ${counted(requests.capacity, 'block')}`,
    equal,
  );
  for (const fleet of fleets) fleet.index.close();
}

function same(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

interface Round {
  readonly nativeNs: number;
  readonly referenceNs: number;
  readonly hits: number;
  readonly evicted: number;
}

/**
 * Whole passes in turns, each into an empty index. A pass of the reference backend takes as long as many of the other,
 * so that each has some of those before and behind it, of which the median counts.
 */
function takeTurns(native: Seam, reference: Seam, requests: Requests, body: Replay, rounds: number): Round[] {
  const PASSES = 4;
  return Array.from({ length: rounds }, () => {
    const before = Array.from({ length: PASSES }, () => pass(native, requests, body));
    const slow = pass(reference, requests, body, { baseline: true });
    const behind = Array.from({ length: PASSES }, () => pass(native, requests, body));
    const fast = [...before, ...behind];
    if (fast.some(({ hits, evicted }) => hits !== slow.hits || evicted !== slow.evicted)) {
      throw new Error(`passes differ in hits or evictions: ${JSON.stringify([slow, ...fast])}`);
    }
    return { ...slow, nativeNs: median(fast.map(({ ns }) => ns)), referenceNs: slow.ns };
  });
}

function pass(
  seam: Seam,
  requests: Requests,
  body: Replay,
  kind: { baseline?: true } = {},
): { ns: number; hits: number; evicted: number } {
  const fleet = new Fleet(seam, requests);
  let hits = 0;
  const ns = elapsedNs(() => {
    hits = body(fleet, requests);
  }, kind);
  const { evictedByCapacity: evicted } = fleet.index.stats();
  fleet.index.close();
  return { ns, hits, evicted };
}
