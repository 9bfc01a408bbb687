import { createPolicy } from '../../../src/routing/policy/spec.js';
import { Router } from '../../../src/routing/router.js';
import type { Decision, RouteRequest, RouterOptions, RouterStats } from '../../../src/routing/types.js';
import { range } from '../../kv-index/support.js';

/** Tokens a block in these tests: lengths are easily read. */
export const BLOCK = 10;

/** A clock that is set. */
export class Clock {
  ms = 1_000_000;
  readonly now = (): number => this.ms;
}

/** A router of these workers with blocks of 10 tokens; the clock stands still unless one is given. */
export function routerOf(workers: readonly string[], options: RouterOptions = {}): Router {
  const router = new Router({ blockSize: BLOCK, now: () => 1_000_000, ...options });
  for (const worker of workers) router.addWorker(worker);
  return router;
}

/** `blocks` seq hashes of a prompt that shares none with prompts of other numbers. */
export const prompt = (number: number, blocks: number): BigUint64Array => range(1 + number * 10_000, blocks);

/** Routes a request and puts it on this worker. */
export function routeTo(router: Router, worker: string, request: RouteRequest): Decision {
  return router.assign(router.route(request).requestId, worker);
}

/** A request from its decision to its end. */
export function serve(router: Router, request: RouteRequest, worker?: string): Decision {
  const decision = worker === undefined ? router.route(request) : routeTo(router, worker, request);
  const { requestId } = decision;
  router.onDispatch(requestId);
  router.onFirstToken(requestId);
  router.onFinish(requestId);
  return decision;
}

export interface Load {
  readonly inflight: number;
  readonly pending: number;
  readonly decode: number;
  readonly running: number;
  readonly assigned: number;
}

export const NO_LOAD = { inflight: 0, pending: 0, decode: 0, running: 0 };

export function loadOf(router: Router, worker: string): Load {
  const { inflight, pendingPrefillTokens, ongoingDecodeTokens, runningTokens, assigned } = statsOf(
    router,
    worker,
  );
  return {
    inflight,
    pending: pendingPrefillTokens,
    decode: ongoingDecodeTokens,
    running: runningTokens,
    assigned,
  };
}

export function statsOf(router: Router, worker: string): RouterStats['workers'][number] {
  const stats = router.stats().workers.find((each) => each.worker === worker);
  if (!stats) throw new Error(`no worker ${worker}`);
  return stats;
}

/** All that can be seen of a router: equal before and after a call that changes nothing. */
export function stateOf(router: Router) {
  const index = Buffer.from(router.index.snapshot()).toString('latin1');
  return { stats: router.stats(), workers: router.workers(), index };
}

/** How many decisions each worker got. */
export function tally(decisions: readonly Decision[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { worker } of decisions) counts[worker] = (counts[worker] ?? 0) + 1;
  return counts;
}

/** The worker that is the session's home, as explanations tell it. */
export function homeOf(router: Router, session: string): string | undefined {
  const { candidates } = router.explain({ session, tokens: [] });
  return candidates.find(({ sticky }) => sticky)?.worker;
}

/** Refusals of the session that count, by worker. */
export function rejectsOf(router: Router, session: string): Record<string, number> {
  const { candidates } = router.explain({ session, tokens: [] });
  return Object.fromEntries(candidates.map(({ worker, rejects }) => [worker, rejects]));
}

/** Leading blocks that the router thinks each worker holds. */
export function overlapsOf(router: Router, seqHashes: BigUint64Array): Record<string, number> {
  const { candidates } = router.explain({ seqHashes });
  return Object.fromEntries(candidates.map(({ worker, overlapBlocks }) => [worker, overlapBlocks]));
}

/** Each policy once with its defaults, and the variants of kv-aware. */
export const SPECS: readonly string[] = [
  'kv-aware:overlap=fair:k=200:by=work',
  'kv-aware:overlap=exclusive',
  'kv-aware:overlap=exclusive:m=8',
  'kv-aware',
  'kv-aware:overlap=prefix:k=200',
  'lpwl',
  'lpwl-kappa',
  'lmetric',
  'load-only',
  'sticky',
  'unified',
  'round-robin',
  'random:seed=7',
];

/** Policies that send a session where its blocks are. */
export const AFFINE: readonly string[] = [
  'kv-aware:overlap=fair:k=200:by=work',
  'kv-aware:overlap=exclusive',
  'kv-aware',
  'lpwl',
  'sticky',
  'unified',
];

export const policyOf = createPolicy;
