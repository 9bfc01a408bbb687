import { describe, expect, test } from 'vitest';
import type { Router } from '../../../src/routing/router.js';
import type { Decision } from '../../../src/routing/types.js';
import { Random } from '../../property/random.js';
import { Clock, prompt, routerOf, serve, statsOf, tally } from './support.js';

const FAIR = 'kv-aware:overlap=fair:k=200:by=work';
const EXCLUSIVE = 'kv-aware:overlap=exclusive';

/** By how much the fullest and the emptiest of three differ from a third, as a share of it. */
function unevenness(shares: Record<string, number>): number {
  const values = ['a', 'b', 'c'].map((name) => shares[name] ?? 0);
  const even = values.reduce((sum, value) => sum + value) / 3;
  return Math.max(...values.map((value) => Math.abs(value / even - 1)));
}

describe.each([FAIR, EXCLUSIVE, `${EXCLUSIVE}:m=8`, 'kv-aware', 'lpwl', 'unified'])('%s', (policy) => {
  test.each([
    ['of one length', 5, 5],
    ['of varied lengths', 1, 40],
  ])('spreads 10,000 cold requests %s evenly over idle workers', (_, shortest, longest) => {
    const clock = new Clock();
    const router = routerOf(['a', 'b', 'c'], { policy, now: clock.now, maxRequests: 64 });
    const random = new Random(3);
    const work: Record<string, number> = {};
    const decisions = Array.from({ length: 10_000 }, (_, i) => {
      clock.ms += 50;
      const session = i % 2 ? {} : { session: `s${i}` };
      const decision = serve(router, {
        ...session,
        seqHashes: prompt(i, random.between(shortest, longest)),
      });
      work[decision.worker] = (work[decision.worker] ?? 0) + decision.newTokens;
      return decision;
    });
    expect(unevenness(tally(decisions))).toBeLessThan(0.05);
    expect(unevenness(work)).toBeLessThan(0.05);
  });
});

/** Sessions of some turns, a few requests under way at a time, all of them after the same boilerplate. */
class Traffic {
  readonly #router: Router;
  readonly #clock: Clock;
  readonly #random = new Random(3);
  readonly #sessions: { number: number; turns: number }[] = [];
  readonly #underWay: string[] = [];
  #started = 0;

  constructor(router: Router, clock: Clock) {
    this.#router = router;
    this.#clock = clock;
  }

  /** So many turns; answers the decisions of those that were the first of their session. */
  play(turns: number): Decision[] {
    const first: Decision[] = [];
    for (let i = 0; i < turns; i++) {
      const decision = this.#turn();
      if (decision.firstTurn) first.push(decision);
    }
    return first;
  }

  #turn(): Decision {
    this.#clock.ms += 50;
    if (this.#sessions.length === 0 || this.#random.oneIn(5)) {
      this.#sessions.push({ number: ++this.#started, turns: 0 });
      if (this.#sessions.length > 60) this.#sessions.shift();
      return this.#send(this.#sessions.at(-1)!);
    }
    return this.#send(this.#random.oneOf(this.#sessions));
  }

  #send(session: { number: number; turns: number }): Decision {
    session.turns += 1;
    const own = prompt(session.number, 5 * session.turns);
    const seqHashes = BigUint64Array.of(...prompt(900_000, 40), ...own);
    const decision = this.#router.route({ session: `s${session.number}`, seqHashes });
    this.#router.onDispatch(decision.requestId);
    this.#underWay.push(decision.requestId);
    if (this.#underWay.length > 12) {
      const over = this.#underWay.shift()!;
      this.#router.onFirstToken(over);
      this.#router.onFinish(over);
    }
    return decision;
  }
}

/** The longest row of decisions for one worker. */
function longestRow(decisions: readonly Decision[], worker: string): number {
  let longest = 0;
  let row = 0;
  for (const decision of decisions) {
    row = decision.worker === worker ? row + 1 : 0;
    longest = Math.max(longest, row);
  }
  return longest;
}

const ARRIVALS: Record<string, (router: Router, traffic: Traffic) => void> = {
  'joins late': (router) => router.addWorker('late'),
  'comes back from draining': (router, traffic) => {
    router.addWorker('late');
    router.drainWorker('late');
    traffic.play(500);
    router.addWorker('late');
  },
  'comes back from a failure': (router, traffic) => {
    router.addWorker('late');
    traffic.play(500);
    router.failWorker('late');
    traffic.play(500);
    router.addWorker('late');
  },
  'left and comes again': (router, traffic) => {
    router.addWorker('late');
    traffic.play(500);
    router.removeWorker('late');
    traffic.play(500);
    router.addWorker('late');
  },
};

describe.each([FAIR, EXCLUSIVE, `${EXCLUSIVE}:k=200`, `${EXCLUSIVE}:by=work`, 'lpwl', 'unified', 'lmetric'])(
  'with %s, a worker that',
  (policy) => {
    test.each(Object.entries(ARRIVALS))('%s gets its share of new sessions, and no flood', (_, arrive) => {
      const clock = new Clock();
      const router = routerOf(['a', 'b', 'c'], { policy, now: clock.now });
      const traffic = new Traffic(router, clock);
      traffic.play(2_000);
      arrive(router, traffic);
      const decisions = traffic.play(2_500);
      expect(decisions.length).toBeGreaterThan(400);
      const share = (tally(decisions).late ?? 0) / decisions.length;
      expect(share).toBeGreaterThan(0.15);
      expect(share).toBeLessThan(0.4);
      expect(longestRow(decisions, 'late')).toBeLessThanOrEqual(25);
      const { assigned } = statsOf(router, 'late');
      for (const name of ['a', 'b', 'c'])
        expect(statsOf(router, name).assigned).toBeLessThan(assigned * 1.25 + 200);
    });
  },
);

describe.each([FAIR, EXCLUSIVE])('with %s, workers that come and go', (policy) => {
  test('let a newcomer that came while they were away have no flood when they are back', () => {
    const clock = new Clock();
    const router = routerOf(['a', 'b'], { policy, now: clock.now });
    const traffic = new Traffic(router, clock);
    traffic.play(1_000);
    for (const name of ['a', 'b']) router.drainWorker(name);
    router.addWorker('new');
    for (const name of ['a', 'b']) router.addWorker(name);
    const decisions = traffic.play(1_000);
    expect(longestRow(decisions, 'new')).toBeLessThanOrEqual(25);
  });
});
