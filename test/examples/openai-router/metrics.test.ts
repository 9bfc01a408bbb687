import { describe, expect, it } from 'vitest';
import { chat, openRouter, stubWorker, stubWorkers, type TestedRouter, until } from './router-support.js';
import { type AnswerOf, refusing } from './stub-worker.js';
import { WorkerClient } from './worker-client.js';

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"';
const SAMPLE = new RegExp(
  `^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? ([Nn]a[Nn]|[+-]Inf|-?[0-9.]+(?:e[+-]?[0-9]+)?)$`,
);
const ABOUT = new RegExp(`^# (HELP|TYPE) (${NAME}) (.+)$`);
const PREFIX = 'kvidx_router_';

interface Metrics {
  readonly types: ReadonlyMap<string, string>;
  /** By name and labels, as they are written. */
  readonly samples: ReadonlyMap<string, number>;
}

/** Reads the text format of Prometheus, every line of it. */
async function scrape(router: TestedRouter): Promise<Metrics> {
  const response = await fetch(`${router.url}/metrics`);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const types = new Map<string, string>();
  const helped = new Set<string>();
  const samples = new Map<string, number>();
  const text = await response.text();
  expect(text.endsWith('\n')).toBe(true);
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const about = ABOUT.exec(line);
    if (about) {
      const [, kind, name, value] = about;
      if (kind === 'TYPE') types.set(name!, value!);
      else helped.add(name!);
      continue;
    }
    const sample = SAMPLE.exec(line);
    expect(sample, line).not.toBeNull();
    const [, name, labels, value] = sample!;
    const family = types.has(name!) ? name! : name!.replace(/_(bucket|sum|count)$/, '');
    expect(types.has(family) && helped.has(family), line).toBe(true);
    const key = labels === undefined ? name! : `${name}{${labels}}`;
    expect(samples.has(key), line).toBe(false);
    samples.set(key, Number(value!.replace('Inf', 'Infinity')));
  }
  return { types, samples };
}

const answers = async (router: TestedRouter, count: number, more: object = {}) => {
  for (let i = 0; i < count; i++) await (await router.post(chat(`Hello ${'word '.repeat(30)}`, more))).text();
};

/** Requests that end in each way. */
async function mixed(): Promise<TestedRouter> {
  const answer: AnswerOf = (arrival) => {
    if (arrival.body.user === 'stays') return;
    (arrival.body.user === 'wrong' ? refusing(400) : usual)(arrival);
  };
  const [refused, works] = await stubWorkers(refusing(503), undefined);
  const usual = works!.answer;
  works!.answer = answer;
  const router = await openRouter([refused!, works!]);
  await answers(router, 3);
  await answers(router, 2, { user: 'wrong' });
  await answers(router, 2, { stream: true });
  const controller = new AbortController();
  const gone = router.post(chat('Hello.', { user: 'stays' }), { signal: controller.signal });
  await until('it is there', () => works!.arrivals.some(({ body }) => body.user === 'stays'));
  controller.abort();
  await expect(gone).rejects.toThrow();
  return router;
}

describe('/metrics', () => {
  it('has the sums of /debug/state', async () => {
    const router = await mixed();
    const { totals, workers } = await router.settled();
    expect(totals).toMatchObject({ requests: 8, finished: 5, failed: 2, abandoned: 1, retries: 1 });
    const { types, samples } = await scrape(router);
    const sums = {
      decisions_total: totals.requests,
      finished_total: totals.finished,
      failed_total: totals.failed,
      abandoned_total: totals.abandoned,
      retries_total: totals.retries,
      refused_total: totals.refused,
      prompt_tokens_total: totals.promptTokens,
      expected_hit_tokens_total: totals.expectedTokens,
      told_prompt_tokens_total: totals.toldPromptTokens,
      hit_tokens_total: totals.toldCachedTokens,
    };
    for (const [name, value] of Object.entries(sums)) {
      expect(types.get(PREFIX + name)).toBe('counter');
      expect([name, samples.get(PREFIX + name)]).toEqual([name, value]);
    }
    for (const { name, requests, promptTokens, expectedTokens, residentBlocks } of workers) {
      const of = (metric: string) => samples.get(`${PREFIX}worker_${metric}{worker="${name}"}`);
      expect(of('requests_total')).toBe(requests);
      expect(of('prompt_tokens_total')).toBe(promptTokens);
      expect(of('expected_hit_tokens_total')).toBe(expectedTokens);
      expect(of('resident_blocks')).toBe(residentBlocks);
      const gauges = ['up', 'on_hold', 'running', 'pending_prefill_tokens', 'residency_degraded'];
      expect(gauges.map(of)).toEqual([1, Number(name === 'w0'), 0, 0, 0]);
      expect(of('residency_age_seconds')).toBeUndefined();
    }
    expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(0);
  });

  it('has how requests ended, by worker and outcome, in buckets that hold one another', async () => {
    const router = await mixed();
    const { totals } = await router.settled();
    const { types, samples } = await scrape(router);
    for (const name of ['overlap_blocks', 'first_token_seconds', 'request_seconds']) {
      expect(types.get(PREFIX + name)).toBe('histogram');
      for (const outcome of ['finished', 'failed', 'abandoned'] as const) {
        const labels = `worker="w1",outcome="${outcome}"`;
        const buckets = [...samples].filter(
          ([key]) => key.startsWith(`${PREFIX}${name}_bucket`) && key.includes(labels),
        );
        const isFirstToken = name === 'first_token_seconds';
        if (isFirstToken && outcome !== 'finished') {
          expect(buckets).toEqual([]);
          continue;
        }
        const requests = isFirstToken ? 2 : totals[outcome]; // an answer in one piece has no first token
        const counts = buckets.map(([, value]) => value);
        expect(counts).toEqual(counts.toSorted((a, b) => a - b));
        expect(counts.at(-1)).toBe(requests);
        expect(samples.get(`${PREFIX}${name}_count{${labels}}`)).toBe(requests);
        expect(samples.get(`${PREFIX}${name}_sum{${labels}}`)).toBeGreaterThanOrEqual(0);
      }
    }
  });

  it('tells who is down, what is under way, and of names that are odd', async () => {
    const busy = await stubWorker({ answer: () => {} });
    const router = await openRouter([], {
      worker: [
        { name: 'a"b\\c', url: busy.url },
        { name: 'away', url: 'http://127.0.0.1:1' },
      ],
    });
    const controller = new AbortController();
    const asked = router.post(chat('Hello.'), { signal: controller.signal });
    await until('it is there', () => busy.arrivals.length > 0);
    const { samples } = await scrape(router);
    const of = (metric: string, worker: string) =>
      samples.get(`${PREFIX}worker_${metric}{worker="${worker}"}`);
    const odd = 'a\\"b\\\\c';
    expect(of('up', odd)).toBe(1);
    expect(of('running', odd)).toBe(1);
    expect(of('pending_prefill_tokens', odd)).toBeGreaterThan(0);
    expect(of('up', 'away')).toBe(0);
    controller.abort();
    await expect(asked).rejects.toThrow();
    await router.settled();
  });

  it('counts requests that no worker was up for, apart from those that were routed', async () => {
    const router = await openRouter([{ url: 'http://127.0.0.1:1' }]);
    for (let i = 0; i < 2; i++) expect((await router.post(chat('Hello.'))).status).toBe(503);
    const { samples } = await scrape(router);
    expect(samples.get(`${PREFIX}refused_total`)).toBe(2);
    expect(samples.get(`${PREFIX}decisions_total`)).toBe(0);
  });

  it('tells the age of what a worker told', async () => {
    const { worker } = await WorkerClient.start({ eventsPort: 0, replayPort: 0 });
    const { url, events, replay } = worker;
    const router = await openRouter([], { worker: [{ name: 'w0', url, events: events!, replay: replay! }] });
    await (await router.post({ ...chat('word '.repeat(30)), model: 'kvidx-fake' })).text();
    const age = async () =>
      (await scrape(router)).samples.get(`${PREFIX}worker_residency_age_seconds{worker="w0"}`);
    await until('it told', async () => (await age()) !== undefined);
    expect(await age()).toBeGreaterThanOrEqual(0);
    expect(await age()).toBeLessThan(60);
  });
});
