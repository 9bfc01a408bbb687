import { describe, expect, test } from 'vitest';
import { SeedBudget, type SeedLimits, type SeedPermit } from '../../../src/routing/dispatch/seed-budget.js';
import { settled, VirtualClock } from './support.js';

const LIMITS: SeedLimits = {
  maxPendingSeeds: 2,
  maxQueuedSeeds: 3,
  seedDeadlineMs: 1000,
  seedLeaseMs: 60_000,
};

/** Asks for permits under names, and notes who got one and who was sent away, in order. */
class Desk {
  readonly clock = new VirtualClock();
  readonly budget: SeedBudget;
  readonly events: string[] = [];
  readonly permits = new Map<string, SeedPermit>();

  constructor(limits: Partial<SeedLimits> = {}) {
    this.budget = new SeedBudget({ ...LIMITS, ...limits }, this.clock);
  }

  async ask(name: string, signal?: AbortSignal, worker = 'w'): Promise<void> {
    this.budget.acquire(worker, signal).then(
      (permit) => {
        if (permit) this.permits.set(name, permit);
        this.events.push(`${name} ${permit ? 'goes' : 'is sent away'} at ${this.clock.now()}`);
      },
      (reason) => this.events.push(`${name} leaves for ${reason}`),
    );
    await settled();
  }

  async back(name: string): Promise<void> {
    this.permits.get(name)!();
    await settled();
  }

  /** `pending/queued` of the worker. */
  counts(worker = 'w'): string | undefined {
    const of = this.budget.counts().find((counts) => counts.worker === worker);
    return of && `${of.pending}/${of.queued}`;
  }
}

describe('permits', () => {
  test('are given while there are some, and then in order as they come back', async () => {
    const desk = new Desk();
    for (const name of ['a', 'b', 'c', 'd']) await desk.ask(name);
    expect(desk.events).toEqual(['a goes at 0', 'b goes at 0']);
    expect(desk.counts()).toBe('2/2');
    await desk.back('b');
    expect(desk.events.slice(2)).toEqual(['c goes at 0']);
    await desk.back('a');
    expect(desk.events.slice(3)).toEqual(['d goes at 0']);
    expect(desk.counts()).toBe('2/0');
    expect(desk.clock.timers).toBe(0);
  });

  test('come back once', async () => {
    const desk = new Desk({ maxPendingSeeds: 1 });
    for (const name of ['a', 'b', 'c']) await desk.ask(name);
    await desk.back('a');
    await desk.back('a');
    expect(desk.events).toEqual(['a goes at 0', 'b goes at 0']);
    expect(desk.counts()).toBe('1/1');
  });

  test('are counted for each worker alone', async () => {
    const desk = new Desk({ maxPendingSeeds: 1 });
    await desk.ask('a', undefined, 'w');
    await desk.ask('b', undefined, 'v');
    expect(desk.events).toEqual(['a goes at 0', 'b goes at 0']);
    expect(desk.budget.counts()).toEqual([
      { worker: 'w', pending: 1, queued: 0 },
      { worker: 'v', pending: 1, queued: 0 },
    ]);
  });

  test('that are all back leave nothing of their worker', async () => {
    const desk = new Desk();
    await desk.ask('a');
    await desk.ask('b');
    await desk.back('a');
    expect(desk.counts()).toBe('1/0');
    await desk.back('b');
    expect(desk.budget.counts()).toEqual([]);
    await desk.ask('c');
    await desk.back('a');
    expect(desk.counts()).toBe('1/0');
  });
});

describe('the queue', () => {
  test('is bounded: who comes to a full one is sent away at once', async () => {
    const desk = new Desk();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await desk.ask(name);
    expect(desk.events).toEqual(['a goes at 0', 'b goes at 0', 'f is sent away at 0']);
    expect(desk.counts()).toBe('2/3');
  });

  test('may have no places', async () => {
    const desk = new Desk({ maxQueuedSeeds: 0, maxPendingSeeds: 1 });
    await desk.ask('a');
    await desk.ask('b');
    expect(desk.events).toEqual(['a goes at 0', 'b is sent away at 0']);
  });

  test('sends everybody away at their own deadline', async () => {
    const desk = new Desk();
    await desk.ask('a');
    await desk.ask('b');
    await desk.ask('c');
    await desk.clock.advance(400);
    await desk.ask('d');
    await desk.clock.advance(2000);
    expect(desk.events.slice(2)).toEqual(['c is sent away at 1000', 'd is sent away at 1400']);
    expect(desk.counts()).toBe('2/0');
    expect(desk.clock.timers).toBe(0);
  });

  test('with a deadline of 0 sends away at once', async () => {
    const desk = new Desk({ seedDeadlineMs: 0, maxPendingSeeds: 1 });
    await desk.ask('a');
    await desk.ask('b');
    await desk.clock.drain();
    expect(desk.events).toEqual(['a goes at 0', 'b is sent away at 0']);
  });

  test('lets go who aborts, wherever they stand', async () => {
    const desk = new Desk({ maxPendingSeeds: 1 });
    const controller = new AbortController();
    await desk.ask('a');
    await desk.ask('b', controller.signal);
    await desk.ask('c');
    controller.abort('boredom');
    await settled();
    expect(desk.events.slice(1)).toEqual(['b leaves for boredom']);
    await desk.back('a');
    expect(desk.events.slice(2)).toEqual(['c goes at 0']);
    await desk.back('c');
    expect(desk.clock.timers).toBe(0);
    expect(desk.budget.counts()).toEqual([]);
  });

  test('minds no abort of one who has a permit', async () => {
    const desk = new Desk({ maxPendingSeeds: 1 });
    const controller = new AbortController();
    await desk.ask('a');
    await desk.ask('b', controller.signal);
    await desk.back('a');
    controller.abort();
    await settled();
    expect(desk.events).toEqual(['a goes at 0', 'b goes at 0']);
    expect(desk.counts()).toBe('1/0');
  });
});

describe('a lease', () => {
  test('that runs out lets the next in line go before their deadline', async () => {
    const desk = new Desk({ seedLeaseMs: 500 });
    await desk.ask('a');
    await desk.clock.advance(100);
    await desk.ask('b');
    await desk.ask('c');
    await desk.ask('d');
    await desk.ask('e');
    await desk.clock.advance(10_000);
    expect(desk.events.slice(2)).toEqual(['c goes at 500', 'd goes at 600', 'e goes at 1000']);
  });

  test('needs no timer where nobody waits', async () => {
    const desk = new Desk({ seedLeaseMs: 500 });
    await desk.ask('a');
    await desk.ask('b');
    expect(desk.clock.timers).toBe(0);
    await desk.clock.advance(500);
    expect(desk.budget.counts()).toEqual([]);
    await desk.ask('c');
    expect(desk.events.slice(2)).toEqual(['c goes at 500']);
  });

  test('that ran out gives nothing back a second time', async () => {
    const desk = new Desk({ seedLeaseMs: 500, maxPendingSeeds: 1 });
    await desk.ask('a');
    await desk.clock.advance(500);
    await desk.ask('b');
    await desk.ask('c');
    await desk.back('a');
    expect(desk.events).toEqual(['a goes at 0', 'b goes at 500']);
    expect(desk.counts()).toBe('1/1');
  });

  test('that runs out at a deadline still counts for who waited', async () => {
    const desk = new Desk({ seedLeaseMs: 1000, maxPendingSeeds: 1 });
    await desk.ask('a');
    await desk.ask('b');
    await desk.clock.drain();
    expect(desk.events).toEqual(['a goes at 0', 'b goes at 1000']);
  });
});

test('nobody overtakes the queue, even where a lease has run out and the timer is late', async () => {
  const desk = new Desk({ seedLeaseMs: 500, maxPendingSeeds: 1 });
  await desk.ask('a');
  await desk.ask('b');
  // The thread was blocked: time went on, no timer came.
  const realNow = desk.clock.now.bind(desk.clock);
  desk.clock.now = () => realNow() + 600;
  await desk.ask('c');
  expect(desk.events).toEqual(['a goes at 0', 'b goes at 600']);
  expect(desk.counts()).toBe('1/1');
});
