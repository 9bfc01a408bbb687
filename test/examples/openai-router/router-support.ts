import { setTimeout as pause } from 'node:timers/promises';
import { Router, type RouterStats } from 'kvidx';
import OpenAI from 'openai';
import { expect, onTestFinished, vi } from 'vitest';
import type { RouterOptions } from '../../../examples/openai-router/router/options.js';
import { createServer } from '../../../examples/openai-router/router/server.js';
import type { StateOfRouter } from '../../../examples/openai-router/router/state.js';
import { type AnswerOf, StubWorker } from './stub-worker.js';

const DEFAULTS = {
  host: '127.0.0.1',
  port: 0,
  blockSize: 4,
  policy: 'round-robin',
  maxBodyMb: 8,
  maxAttempts: 3,
  firstByteMs: 20_000,
  answerMs: 20_000,
  idleMs: 20_000,
  healthEveryMs: 60_000, // who was looked at is looked at again only where a request failed
  drainMs: 0,
  logLevel: 'silent',
} as const;

export interface TestedRouter {
  readonly url: string;
  /** The official client, which tries nothing again. */
  readonly client: OpenAI;
  state(): Promise<StateOfRouter>;
  stats(): RouterStats;
  /** A completion, of a chat unless the path says otherwise. */
  post(body: unknown, options?: PostOptions): Promise<Response>;
  /** Resolves when nothing is under way, in the router's books as in its journal; fails if that never comes. */
  settled(): Promise<StateOfRouter>;
  /** Requests under way may go on for so long first. */
  close(patienceMs?: number): Promise<void>;
}

interface PostOptions {
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** A router before these workers, which ends with the test. */
export async function openRouter(
  workers: readonly { readonly url: string }[],
  options: Partial<RouterOptions> = {},
): Promise<TestedRouter> {
  const { server, router } = await create({
    ...DEFAULTS,
    worker: workers.map(({ url }, i) => ({ name: `w${i}`, url })),
    ...options,
  });
  const close = (patienceMs = 0) => server.close(patienceMs);
  onTestFinished(() => close());
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 });
  const state = async () => (await (await fetch(`${url}/debug/state`)).json()) as StateOfRouter;
  return {
    url,
    client: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 }),
    state,
    stats: () => router.stats(),
    post: (body, { path = '/v1/chat/completions', headers, signal } = {}) =>
      fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...(signal && { signal }),
      }),
    async settled() {
      await until('all requests have ended', () => router.stats().requests === 0);
      for (const { worker, ...load } of router.stats().workers) {
        expect({ worker, ...load }).toMatchObject({
          worker,
          routed: 0,
          numRequests: 0,
          pendingPrefillTokens: 0,
          ongoingDecodeTokens: 0,
        });
      }
      const told = await state();
      expect(told.decisions.filter(({ outcome }) => outcome === 'running')).toEqual([]);
      const { requests, finished, failed, abandoned } = told.totals;
      expect(finished + failed + abandoned).toBe(requests);
      return told;
    },
    close,
  };
}

/** The router is its server's own: the workers that join it show it. */
async function create(options: RouterOptions) {
  const joins = vi.spyOn(Router.prototype, 'addWorker');
  try {
    const server = await createServer(options);
    return { server, router: joins.mock.contexts[0] as Router };
  } finally {
    joins.mockRestore();
  }
}

/** Stub workers, which end with the test, each with its answer or the usual one. */
export async function stubWorkers(...answers: readonly (AnswerOf | undefined)[]): Promise<StubWorker[]> {
  return Promise.all(answers.map((answer) => stubWorker(answer && { answer })));
}

export async function stubWorker(given?: Partial<StubWorker>): Promise<StubWorker> {
  const worker = await StubWorker.start(given);
  onTestFinished(() => worker.stop());
  return worker;
}

/** A chat whose prompt is its own. */
export const chat = (content: string, more: object = {}) => ({
  model: 'm',
  messages: [{ role: 'user', content }],
  ...more,
});

/** Resolves when the condition holds; fails, saying what, when it does not in time. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await holds())) {
    if (performance.now() > deadline) expect.fail(`${what}: not within 20 s`);
    await pause(5);
  }
}

export interface OpenAiBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: unknown;
    readonly code: unknown;
  };
}

/** The body of an error, of the shape that OpenAI's clients read. */
export async function errorOf(response: Response): Promise<OpenAiBody['error']> {
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  const body = (await response.json()) as OpenAiBody;
  expect(Object.keys(body)).toEqual(['error']);
  expect(body.error).toEqual({
    message: expect.any(String),
    type: expect.any(String),
    param: body.error.param === null ? null : expect.any(String),
    code: body.error.code === null ? null : expect.any(String),
  });
  return body.error;
}
