import { Router } from '../../../src/routing/router.js';
import type { World } from './crowd.js';
import { FakeRouter, type VirtualClock } from './support.js';

export function fakeWorld(): World {
  const router = new FakeRouter();
  return {
    router,
    join: (worker) => void router.statuses.set(worker, 'up'),
    fail: (worker) => router.lose(worker),
    drain: (worker) => void router.statuses.set(worker, 'draining'),
    remove: (worker) => router.lose(worker, true),
    rejects: () => 0,
    leftovers: () => router.requests.size,
  };
}

export function realWorld(policy: string, now: VirtualClock['now']): World & { readonly router: Router } {
  const router = new Router({ policy, blockSize: 4, now, migration: { hotTokens: 50, cooldownMs: 100 } });
  return {
    router,
    join: (worker) => router.addWorker(worker, { capacity: 50, poolTokens: 1000 }),
    fail: (worker) => void router.failWorker(worker),
    drain: (worker) => router.drainWorker(worker),
    remove: (worker) => void router.removeWorker(worker),
    rejects(session, worker) {
      if (session === undefined) return 0;
      const { candidates } = router.explain({ session, tokens: [1] });
      return candidates.find((candidate) => candidate.worker === worker)!.rejects;
    },
    leftovers() {
      const { requests, workers } = router.stats();
      return workers.reduce(
        (sum, { inflight, pendingPrefillTokens, runningTokens }) =>
          sum + inflight + pendingPrefillTokens + runningTokens,
        requests,
      );
    },
  };
}
