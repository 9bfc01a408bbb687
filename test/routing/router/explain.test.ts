import { describe, expect, test } from 'vitest';
import type { Router } from '../../../src/routing/router.js';
import type { RouteRequest } from '../../../src/routing/types.js';
import { Random } from '../../property/random.js';
import { Clock, prompt, routerOf, routeTo, SPECS, serve, stateOf } from './support.js';

/** Random traffic over five workers of which some drain or are down. */
function traffic(router: Router, random: Random, clock: Clock): void {
  const workers = ['a', 'b', 'c', 'd', 'e'];
  const recent: string[] = [];
  for (let i = 0; i < 60; i++) {
    clock.ms += random.below(40);
    if (random.oneIn(12)) router.drainWorker(random.oneOf(workers.slice(1)));
    if (random.oneIn(15)) router.failWorker(random.oneOf(workers.slice(1)));
    if (random.oneIn(6)) router.addWorker(random.oneOf(workers));
    recent.push(router.route(anyRequest(random)).requestId);
    for (let hooks = 0; hooks < 2; hooks++) {
      router[random.oneOf(['onDispatch', 'onDispatch', 'onFirstToken', 'onFinish', 'onReject'] as const)](
        random.oneOf(recent.slice(-6)),
      );
    }
  }
}

function anyRequest(random: Random): RouteRequest {
  const number = random.below(8);
  const blocks = random.between(0, 30);
  const session = random.oneIn(5) ? {} : { session: `s${number}` };
  return { ...session, seqHashes: prompt(number, blocks), inputLength: blocks * 10 + random.below(10) };
}

describe.each(SPECS)('%s', (policy) => {
  test('explains what route then decides, with a reason for every loser, and changes nothing', () => {
    const random = new Random(SPECS.indexOf(policy) + 1);
    const met = { left: 0, moved: 0 };
    for (let round = 0; round < 12; round++) {
      const clock = new Clock();
      const migration = { hotTokens: 100, cooldownMs: 50 };
      const router = routerOf(['a', 'b', 'c', 'd', 'e'], {
        policy,
        now: clock.now,
        maxRequests: 50,
        maxSessions: 50,
        ...(round % 2 && { migration }),
      });
      traffic(router, random, clock);
      for (let asked = 0; asked < 5; asked++) {
        const request = anyRequest(random);
        const before = stateOf(router);
        const explained = router.explain(request);
        expect(router.explain(request)).toEqual(explained);
        expect(stateOf(router)).toEqual(before);

        const { worker, overlapBlocks, cachedTokens, migrated, requestId } = router.route(request);
        expect(explained.worker).toBe(worker);
        const names = (status: 'up' | 'other') =>
          router
            .workers()
            .filter((each) => (each.status === 'up') === (status === 'up'))
            .map(({ name }) => name);
        expect(explained.candidates.map((each) => each.worker)).toEqual(names('up'));
        expect(explained.left.map((each) => each.worker)).toEqual(names('other'));
        for (const { worker: loser, lost, keys } of explained.candidates) {
          if (loser === worker) expect(lost).toBeUndefined();
          else expect(lost).toMatch(/\S/);
          for (const { value } of keys) expect(value).not.toBeNaN();
        }
        const winner = explained.candidates.find((each) => each.worker === worker)!;
        expect(winner).toMatchObject({ overlapBlocks, cachedTokens });
        expect(explained.message).toContain(`"${worker}"`);
        expect(explained.policy).toBe(policy);
        met.left += explained.left.length;
        met.moved += migrated ? 1 : 0;
        router.onError(requestId);
      }
    }
    expect(met.left).toBeGreaterThan(0);
  });
});

test('figures are those that the policy saw', () => {
  const router = routerOf(['a', 'b'], { workHalfLifeMs: Number.POSITIVE_INFINITY });
  serve(router, { session: 's', seqHashes: prompt(1, 4) }, 'a');
  serve(router, { session: 't', seqHashes: prompt(1, 2) }, 'b');
  for (const [i, worker] of ['b', 'b'].entries()) {
    const { requestId } = routeTo(router, worker, { session: 'u', seqHashes: prompt(5 + i, 3) });
    router.onDispatch(requestId);
    if (i === 0) router.onFirstToken(requestId);
  }
  const refused = routeTo(router, 'b', { session: 's', tokens: [] }).requestId;
  router.onReject(refused);
  const { candidates, counts } = router.explain({ session: 's', seqHashes: prompt(1, 5), inputLength: 55 });
  expect(counts).toMatchObject({ overlap: 'fair' });
  expect(candidates).toMatchObject([
    {
      worker: 'a',
      overlapBlocks: 4,
      cachedTokens: 40,
      counted: 3,
      sticky: true,
      inflight: 0,
      assigned: 1,
      work: 40,
      rejects: 0,
      pendingPrefillTokens: 0,
      numRequests: 0,
      ongoingDecodeTokens: 0,
    },
    {
      worker: 'b',
      overlapBlocks: 2,
      cachedTokens: 20,
      counted: 1,
      sticky: false,
      inflight: 2,
      assigned: 3,
      work: 80,
      rejects: 1,
      pendingPrefillTokens: 30,
      numRequests: 2,
      ongoingDecodeTokens: 30,
    },
  ]);
});

test('workers that take no requests are listed with what they are', () => {
  const router = routerOf(['a', 'b', 'c']);
  router.drainWorker('a');
  router.failWorker('c');
  expect(router.explain({ tokens: [] }).left).toEqual([
    { worker: 'a', status: 'draining' },
    { worker: 'c', status: 'down' },
  ]);
});

test('an explanation is of any number of requests, and names none of them', () => {
  const router = routerOf(['a', 'b'], { maxRequests: 1, maxSessions: 1 });
  serve(router, { session: 's', seqHashes: prompt(1, 3) });
  router.route({ requestId: 'r', session: 's', tokens: [] });
  for (let i = 0; i < 10; i++) router.explain({ session: `t${i}`, tokens: [] });
  expect(router.stats()).toMatchObject({ requests: 1, sessions: 1, givenUp: 0 });
  expect(router.onDispatch('r')).toBe(true);
});
