/** Behaviours of KV-aware routers that break in the field, each with its right answer: who gets a request. */
import { describe, expect, test } from 'vitest';
import type { Router } from '../../src/routing/router.js';
import type { Decision, RouteRequest } from '../../src/routing/types.js';
import { loadOf, prompt, routerOf, routeTo, serve, tally } from '../routing/router/support.js';

const FAIR = 'kv-aware:overlap=fair:k=200:by=work';
const EXCLUSIVE = 'kv-aware:overlap=exclusive';
/** Policies for which load counts somewhere. */
const LOAD_AWARE = [
  'kv-aware',
  FAIR,
  EXCLUSIVE,
  'lpwl',
  'lpwl-kappa',
  'unified',
  'load-only',
  'lmetric',
  'sticky',
];
/** Those that say nothing of idle workers: all of them look alike until requests are under way. */
const BLIND_WHEN_IDLE = ['lmetric', 'load-only', 'sticky'];

/** Routes a request and sends it: it stays in its prefill. */
function send(router: Router, request: RouteRequest): Decision {
  const decision = router.route(request);
  router.onDispatch(decision.requestId);
  return decision;
}

const largest = (decisions: readonly Decision[]): number => Math.max(...Object.values(tally(decisions)));

describe('with no hit anywhere, requests spread', () => {
  const all = [FAIR, EXCLUSIVE, 'kv-aware', 'lpwl', 'unified', 'round-robin', 'random:seed=3'];

  test.each(all)('over idle workers (%s)', (policy) => {
    const router = routerOf(['a', 'b', 'c'], { policy });
    const decisions = Array.from({ length: 90 }, (_, i) => serve(router, { seqHashes: prompt(i, 20) }));
    expect(largest(decisions)).toBeLessThanOrEqual(40);
  });

  test.each([...all, ...BLIND_WHEN_IDLE])('over busy workers (%s)', (policy) => {
    const router = routerOf(['a', 'b', 'c'], { policy });
    const decisions = Array.from({ length: 90 }, (_, i) =>
      send(router, { session: `s${i}`, seqHashes: prompt(i, 20) }),
    );
    expect(largest(decisions)).toBeLessThanOrEqual(40);
  });

  test.each([FAIR, EXCLUSIVE, 'lpwl', 'unified'])(
    'also when their prompts end before a block does (%s)',
    (policy) => {
      const router = routerOf(['a', 'b', 'c'], { policy });
      const decisions = Array.from({ length: 90 }, (_, i) => serve(router, { tokens: [i, 1, 2] }));
      expect(largest(decisions)).toBeLessThanOrEqual(40);
    },
  );
});

describe('a miss looks at load', () => {
  test.each(LOAD_AWARE)('and goes to the idle worker, wherever that stands (%s)', (policy) => {
    for (const idle of ['a', 'b', 'c']) {
      const router = routerOf(['a', 'b', 'c'], { policy });
      for (const busy of ['a', 'b', 'c'].filter((name) => name !== idle)) {
        const { requestId } = routeTo(router, busy, { seqHashes: prompt(1, 40) });
        router.onDispatch(requestId);
      }
      expect(router.route({ session: 's', seqHashes: prompt(2, 20) }).worker).toBe(idle);
    }
  });
});

describe('one hot worker does not switch affinity off for the others', () => {
  const affine = [FAIR, EXCLUSIVE, `${EXCLUSIVE}:m=8`, 'kv-aware', 'lpwl', 'lpwl-kappa', 'sticky', 'unified'];

  test.each(affine)('%s', (policy) => {
    const router = routerOf(['a', 'b', 'c', 'd'], { policy });
    const sessions = ['b', 'c', 'd'].flatMap((home, i) =>
      [0, 1, 2].map((n) => ({ home, session: `${home}${n}`, seqHashes: prompt(10 * i + n, 300) })),
    );
    for (const { home, ...request } of sessions) serve(router, request, home);
    for (let i = 0; i < 60; i++) {
      const { requestId } = routeTo(router, 'a', { seqHashes: prompt(100 + i, 300) });
      router.onDispatch(requestId);
    }
    expect(loadOf(router, 'a').pending).toBe(180_000);
    for (const { home, ...request } of sessions) expect(router.route(request).worker).toBe(home);
  });
});

describe('a hot prefix does not pull every request to its one holder', () => {
  const balanced = [FAIR, EXCLUSIVE, 'lpwl', 'lpwl-kappa', 'lmetric', 'unified'];

  test.each(balanced)('while requests are under way (%s)', (policy) => {
    const router = routerOf(['a', 'b', 'c'], { policy });
    const prefix = prompt(999, 40);
    for (let i = 0; i < 3; i++) serve(router, { seqHashes: prefix }, 'a');
    const underWay: string[] = [];
    const decisions = Array.from({ length: 300 }, (_, i) => {
      const seqHashes = BigUint64Array.of(...prefix, ...prompt(i, 10));
      const decision = send(router, { session: `s${i}`, seqHashes });
      underWay.push(decision.requestId);
      if (underWay.length > 12) router.onFinish(underWay.shift()!);
      return decision;
    });
    expect(largest(decisions)).toBeLessThanOrEqual(150);
  });

  test.each([FAIR, EXCLUSIVE])('nor one after another (%s)', (policy) => {
    const router = routerOf(['a', 'b', 'c'], { policy });
    const prefix = prompt(999, 40);
    for (let i = 0; i < 3; i++) serve(router, { seqHashes: prefix }, 'a');
    const decisions = Array.from({ length: 300 }, (_, i) =>
      serve(router, { session: `s${i}`, seqHashes: BigUint64Array.of(...prefix, ...prompt(i, 10)) }),
    );
    expect(largest(decisions)).toBeLessThanOrEqual(150);
  });
});

describe('of equal workers the cached one is preferred', () => {
  const cacheFirst = [FAIR, EXCLUSIVE, `${EXCLUSIVE}:m=8`, 'kv-aware', 'lpwl', 'lpwl-kappa', 'unified'];

  test.each(cacheFirst)('wherever it stands, be it for one block (%s)', (policy) => {
    for (const cached of ['a', 'b', 'c']) {
      const router = routerOf(['a', 'b', 'c'], { policy });
      for (const name of ['a', 'b', 'c']) {
        const seqHashes = prompt(name === cached ? 7 : name.charCodeAt(0), 1);
        serve(router, { session: `of ${name}`, seqHashes }, name);
      }
      expect(router.route({ session: `of ${cached}`, seqHashes: prompt(7, 1) }).worker).toBe(cached);
    }
  });

  test.each(cacheFirst.filter((policy) => policy !== EXCLUSIVE))(
    'also for one who never came before (%s)',
    (policy) => {
      for (const cached of ['a', 'b', 'c']) {
        const router = routerOf(['a', 'b', 'c'], { policy });
        for (const name of ['a', 'b', 'c']) {
          serve(router, { seqHashes: prompt(name === cached ? 7 : name.charCodeAt(0), 5) }, name);
        }
        expect(router.route({ seqHashes: prompt(7, 5) }).worker).toBe(cached);
      }
    },
  );
});

describe('siblings of one burst, before any residency is known', () => {
  const burst = (router: Router, then: (id: string) => void) =>
    Array.from({ length: 6 }, () => {
      const decision = router.route({ seqHashes: prompt(1, 40) });
      then(decision.requestId);
      return decision;
    });

  test.each(['kv-aware', 'kv-aware:overlap=prefix', `${EXCLUSIVE}:m=8`])(
    'meet where residency is recorded at the route, and spread else (%s)',
    (policy) => {
      const meeting = routerOf(['a', 'b', 'c'], { policy, recordAt: 'route' });
      const first = meeting.route({ seqHashes: prompt(1, 40) });
      meeting.onDispatch(first.requestId);
      const met = burst(meeting, (id) => meeting.onDispatch(id));
      expect(tally(met)).toEqual({ [first.worker]: 6 });
      expect(met.every(({ cachedTokens }) => cachedTokens === 400)).toBe(true);

      const spreading = routerOf(['a', 'b', 'c'], { policy });
      expect(tally(burst(spreading, (id) => spreading.onDispatch(id)))).toEqual({ a: 2, b: 2, c: 2 });
    },
  );

  test.each([FAIR, 'lpwl', 'lpwl-kappa', 'unified'])(
    'meet until the first of them is load, and spread else (%s)',
    (policy) => {
      const meeting = routerOf(['a', 'b', 'c'], { policy, recordAt: 'route' });
      const met = burst(meeting, () => {});
      expect(Object.values(tally(met))).toEqual([6]);

      const spreading = routerOf(['a', 'b', 'c'], { policy });
      expect(tally(burst(spreading, (id) => spreading.onDispatch(id)))).toEqual({ a: 2, b: 2, c: 2 });
    },
  );

  test.each(LOAD_AWARE)('strangers of one burst spread, wherever residency is recorded (%s)', (policy) => {
    for (const recordAt of ['finish', 'route'] as const) {
      const router = routerOf(['a', 'b', 'c'], { policy, recordAt });
      const decisions = Array.from({ length: 30 }, (_, i) => router.route({ seqHashes: prompt(i, 40) }));
      expect(tally(decisions)).toEqual({ a: 10, b: 10, c: 10 });
    }
  });

  test.each(LOAD_AWARE)('spread while they wait for their workers to be asked (%s)', (policy) => {
    const router = routerOf(['a', 'b', 'c'], { policy });
    expect(tally(burst(router, () => {}))).toEqual({ a: 2, b: 2, c: 2 });
  });
});
