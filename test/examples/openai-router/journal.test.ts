import type { Decision } from 'kvidx';
import { describe, expect, it } from 'vitest';
import { Journal } from '../../../examples/openai-router/router/journal.js';
import type { DecisionTold } from '../../../examples/openai-router/router/state.js';

const decision = (requestId: string, worker: string, cachedTokens = 0): Decision => ({
  requestId,
  worker,
  cachedTokens,
  overlapBlocks: cachedTokens / 4,
  newTokens: 0,
  firstTurn: true,
  migrated: false,
});

function open() {
  const ended: [DecisionTold, number][] = [];
  return { journal: new Journal({ ended: (...told) => ended.push(told) }), ended };
}

const request = { session: 's', model: 'm', promptTokens: 100 };

describe('a journal', () => {
  it('tells of a request from its decision to its end', () => {
    const { journal, ended } = open();
    const first = decision('r1', 'w0', 40);
    const entry = journal.begin(request, first);
    entry.sent(first);
    expect(journal.latest()).toEqual([
      {
        session: 's',
        model: 'm',
        promptTokens: 100,
        requestId: 'r1',
        worker: 'w0',
        expectedTokens: 40,
        routedAt: expect.any(Number),
        attempts: 1,
        outcome: 'running',
      },
    ]);
    entry.firstToken();
    entry.told({ promptTokens: 98, cachedTokens: 36 });
    entry.ended('finished');
    const [told] = journal.latest();
    expect(told).toMatchObject({ cachedTokens: 36, outcome: 'finished', firstTokenMs: expect.any(Number) });
    expect(told!.totalMs).toBeGreaterThanOrEqual(told!.firstTokenMs!);
    expect(ended).toEqual([[told, 10]]);
    expect(journal.totals).toEqual({
      requests: 1,
      finished: 1,
      failed: 0,
      abandoned: 0,
      refused: 0,
      retries: 0,
      promptTokens: 100,
      expectedTokens: 40,
      toldPromptTokens: 98,
      toldCachedTokens: 36,
    });
    expect(journal.worker('w0')).toEqual({
      running: 0,
      requests: 1,
      promptTokens: 100,
      expectedTokens: 40,
    });
  });

  it('counts a retry once in the sums, and at each worker that was tried', () => {
    const { journal } = open();
    const entry = journal.begin(request, decision('r1', 'w0', 40));
    const running = () => ['w0', 'w1'].map((name) => journal.worker(name).running);
    expect(running()).toEqual([0, 0]);
    entry.sent(decision('r1', 'w0', 40));
    expect(running()).toEqual([1, 0]);
    entry.sent(decision('r2', 'w1', 8));
    expect(running()).toEqual([0, 1]);
    entry.ended('failed', 'no');
    expect(journal.latest()).toMatchObject([
      { requestId: 'r2', worker: 'w1', expectedTokens: 8, attempts: 2, outcome: 'failed', error: 'no' },
    ]);
    expect(journal.totals).toMatchObject({
      requests: 1,
      retries: 1,
      promptTokens: 100,
      expectedTokens: 8,
      failed: 1,
    });
    expect(running()).toEqual([0, 0]);
    expect(journal.worker('w0')).toMatchObject({ requests: 1, promptTokens: 100, expectedTokens: 40 });
    expect(journal.worker('w1')).toMatchObject({ requests: 1, promptTokens: 100, expectedTokens: 8 });
  });

  it('counts a request that no worker was up for by itself', () => {
    const { journal } = open();
    journal.refused();
    expect(journal.totals).toMatchObject({ requests: 0, failed: 0, refused: 1 });
    expect(journal.latest()).toEqual([]);
  });

  it('has nothing to say of a worker that got nothing, or of a session without a name', () => {
    const { journal } = open();
    expect(journal.worker('w9')).toEqual({ running: 0, requests: 0, promptTokens: 0, expectedTokens: 0 });
    journal.begin({ ...request, session: undefined }, decision('r1', 'w0'));
    expect(journal.latest()[0]).not.toHaveProperty('session');
  });

  it('keeps the latest 50 requests, the latest first', () => {
    const { journal } = open();
    for (let i = 0; i < 60; i++) journal.begin(request, decision(`r${i}`, 'w0'));
    const ids = journal.latest().map(({ requestId }) => requestId);
    expect(ids).toEqual(Array.from({ length: 50 }, (_, i) => `r${59 - i}`));
    expect(journal.totals.requests).toBe(60);
  });
});
