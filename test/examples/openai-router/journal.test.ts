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
    entry.told(36);
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
      retries: 0,
      promptTokens: 100,
      expectedTokens: 40,
      toldPromptTokens: 100,
      toldCachedTokens: 36,
    });
    expect(journal.worker('w0')).toEqual({ requests: 1, promptTokens: 100, expectedTokens: 40 });
  });

  it('counts a retry once in the sums, and at each worker that was tried', () => {
    const { journal } = open();
    const entry = journal.begin(request, decision('r1', 'w0', 40));
    entry.sent(decision('r1', 'w0', 40));
    entry.sent(decision('r2', 'w1', 8));
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
    expect(journal.worker('w0')).toEqual({ requests: 1, promptTokens: 100, expectedTokens: 40 });
    expect(journal.worker('w1')).toEqual({ requests: 1, promptTokens: 100, expectedTokens: 8 });
  });

  it('has nothing to say of a worker that got nothing, or of a session without a name', () => {
    const { journal } = open();
    expect(journal.worker('w9')).toEqual({ requests: 0, promptTokens: 0, expectedTokens: 0 });
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
