import { describe, expect, it } from 'vitest';
import type { Router } from '../../../src/routing/router.js';
import { prompt, routerOf, routeTo, serve, statsOf } from '../router/support.js';

const HOMES = ['b', 'c', 'd'];
const OVERLOAD = { requests: 60, blocks: 300 };
const TURNS = 5;

interface Session {
  readonly name: string;
  readonly number: number;
  readonly blocks: number;
  readonly home: string;
}

/** 30 of them: 10 at home on each worker but a, every other one with 50 blocks of its own, the rest with 100. */
const SESSIONS = Array.from(
  { length: 30 },
  (_, number): Session => ({
    name: `s${number}`,
    number,
    blocks: number % 2 === 0 ? 50 : 100,
    home: HOMES[number % HOMES.length]!,
  }),
);

const request = ({ name, number, blocks }: Session) => ({ session: name, seqHashes: prompt(number, blocks) });

/** All sessions are served at home; then a gets long requests without sessions, which stay under way. */
function overloadedRouter(floorScope: string): Router {
  const policy = `kv-aware:overlap=fair:k=200:by=work:floorScope=${floorScope}`;
  const router = routerOf(['a', ...HOMES], { policy });
  for (const session of SESSIONS) serve(router, request(session), session.home);
  for (let i = 0; i < OVERLOAD.requests; i++) {
    const seqHashes = prompt(SESSIONS.length + i, OVERLOAD.blocks);
    router.onDispatch(routeTo(router, 'a', { seqHashes }).requestId);
  }
  return router;
}

/** Turns that were served by another worker than the session's turn before. */
function movesOf(router: Router): number {
  const homes = new Map(SESSIONS.map(({ name, home }) => [name, home]));
  let moves = 0;
  for (let turn = 0; turn < TURNS; turn++) {
    for (const session of SESSIONS) {
      const { worker } = serve(router, request(session));
      if (worker !== homes.get(session.name)) moves += 1;
      homes.set(session.name, worker);
    }
  }
  return moves;
}

describe('sessions beside one overloaded worker', () => {
  it.each(['all', 'session'])('stay where they are with floorScope=%s', (floorScope) => {
    const router = overloadedRouter(floorScope);
    expect(statsOf(router, 'a').inflight).toBe(OVERLOAD.requests);
    expect(movesOf(router)).toBe(0);
  });

  it('are pulled off their homes with floorScope=worker, to workers that hold nothing of them', () => {
    const router = overloadedRouter('worker');
    const [first] = SESSIONS;
    const { worker, overlapBlocks } = router.route(request(first!));
    expect(worker).not.toBe(first!.home);
    expect(overlapBlocks).toBe(0);
    expect(movesOf(router)).toBeGreaterThan(SESSIONS.length);
  });

  it('let new sessions go elsewhere with every scope', () => {
    for (const floorScope of ['worker', 'session', 'all']) {
      const { worker } = overloadedRouter(floorScope).route({
        session: 'new',
        seqHashes: prompt(SESSIONS.length, 40),
      });
      expect(worker, floorScope).not.toBe('a');
    }
  });
});
