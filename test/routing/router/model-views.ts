import type { RouterStats, RouterWorkerStats } from '../../../src/routing/types.js';
import type { Model } from './model.js';
import type { Life, Request, Session } from './model-types.js';

type Worker = Omit<RouterWorkerStats, 'residentBlocks'>;

/** What `stats` answers but for resident blocks; `work` in tokens that never decay. */
export function statsOf(model: Model): Omit<RouterStats, 'workers'> & { readonly workers: Worker[] } {
  return {
    workers: Array.from(model.lives.values(), (life) => workerStats(model, life)),
    sessions: model.sessions.size,
    requests: model.requests.size,
    ...model.counters,
    ignoredHooks: { ...model.ignoredHooks },
  };
}

function workerStats(model: Model, life: Life): Worker {
  const here = [...model.requests.values()].filter((each) => each.life === life && each.phase !== 'routed');
  const sum = (of: (request: (typeof here)[number]) => number) =>
    here.reduce((total, request) => total + of(request), 0);
  return {
    worker: life.name,
    status: life.status,
    residency: life.residency,
    routed: routedTo(model, life).length,
    inflight: here.length,
    assigned: life.assigned,
    work: life.work,
    pendingPrefillTokens: sum(({ phase, newTokens }) => (phase === 'prefill' ? newTokens : 0)),
    numRequests: here.length,
    ongoingDecodeTokens: sum(({ phase, inputLength }) => (phase === 'decode' ? inputLength : 0)),
    runningTokens: sum(({ inputLength }) => inputLength),
  };
}

function routedTo(model: Model, life: Life): Request[] {
  return [...model.requests.values()].filter((each) => each.life === life && each.phase === 'routed');
}

/** Tokens to prefill there; where they are load, with those of requests on their way there, but for this one. */
export function pendingOf(model: Model, life: Life, spreads: boolean, id: string): number {
  const onTheirWay =
    spreads || life.residency === 'exact' ? routedTo(model, life).filter((request) => request.id !== id) : [];
  return onTheirWay.reduce(
    (total, { newTokens }) => total + newTokens,
    workerStats(model, life).pendingPrefillTokens,
  );
}

/** The worker that served the session last, unless it failed or left since. */
export function homeOf({ visits }: Session): Life | undefined {
  const life = visits.at(-1)?.life;
  return life?.status === 'down' ? undefined : life;
}

/** When the session was last moved. */
export function movedMs({ visits }: Session): number | undefined {
  return visits.findLast((visit) => visit.movedMs !== undefined)?.movedMs;
}

/** Leading blocks that the worker holds, as the router knows it: from so many to so many. */
export function overlapOf(model: Model, life: Life, hashes: BigUint64Array): readonly [number, number] {
  const fed = life.residency === 'estimate' ? undefined : model.fed.get(life.name);
  const leading = (held: ReadonlySet<bigint> | undefined) => {
    const gap = hashes.findIndex((hash) => !held?.has(hash));
    return gap < 0 ? hashes.length : gap;
  };
  return [Math.max(leading(life.held), leading(fed)), Math.max(leading(life.told), leading(fed))];
}

/** Blocks that the worker holds, as the router knows it: from so many to so many. */
export function residentBlocksOf(model: Model, life: Life): readonly [number, number] {
  const fed = life.residency === 'estimate' ? 0 : (model.fed.get(life.name)?.size ?? 0);
  return [Math.max(life.held.size, fed), Math.max(life.told.size, fed)];
}

/** Blocks that the index knows: from so many to so many. */
export function blocksOf(model: Model): readonly [number, number] {
  return [countKnown(model, ({ held }) => held), countKnown(model, ({ told }) => told)];
}

function countKnown({ lives, fed, owners }: Model, of: (life: Life) => ReadonlySet<bigint>): number {
  const known = new Set<bigint>();
  for (const life of lives.values()) for (const hash of of(life)) known.add(hash);
  for (const held of fed.values()) for (const hash of held) known.add(hash);
  for (const { blocks } of owners.values()) for (const hash of blocks) known.add(hash);
  return known.size;
}
