import { expect, onTestFinished } from 'vitest';
import {
  startWorker,
  type Worker,
  type WorkerOptions,
} from '../../../examples/openai-router/worker/worker.js';

export const MODEL = 'kvidx-fake';

export interface Message {
  readonly role: string;
  readonly content: string;
}

interface Choice {
  readonly delta?: { readonly role?: string; readonly content?: string };
  readonly message?: Message;
  readonly text?: string;
  readonly finish_reason: string | null;
}

/** A completion, or a chunk of one. */
export interface Completion {
  readonly id: string;
  readonly object: string;
  readonly choices: readonly Choice[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
}

export interface FakeState {
  readonly mode: string;
  readonly running: number;
  readonly waiting: number;
  readonly served: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly blocks: number;
}

/** A worker of this process, fast unless told otherwise, and requests to it. */
export class WorkerClient {
  constructor(readonly worker: Worker) {}

  static async start(options: Partial<WorkerOptions> = {}, die = () => {}): Promise<WorkerClient> {
    const worker = await startWorker(
      {
        name: 'w0',
        model: MODEL,
        host: '127.0.0.1',
        port: 0,
        blockSize: 4,
        capacity: 10_000,
        prefillTokensPerS: 1_000_000,
        tokenMs: 1,
        maxRunning: 64,
        ...options,
      },
      die,
    );
    onTestFinished(() => worker.close());
    return new WorkerClient(worker);
  }

  post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
    return fetch(this.worker.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal && { signal }),
    });
  }

  chat(messages: readonly Message[], more: object = {}, signal?: AbortSignal): Promise<Response> {
    return this.post('/v1/chat/completions', { model: MODEL, messages, ...more }, signal);
  }

  /** A chat in one piece. */
  async complete(messages: readonly Message[], more: object = {}): Promise<Completion> {
    const response = await this.chat(messages, more);
    expect(response.status).toBe(200);
    return (await response.json()) as Completion;
  }

  async held(messages: readonly Message[], more: object = {}) {
    const response = await this.post('/fake/held', { model: MODEL, messages, ...more });
    return (await response.json()) as { promptTokens: number; heldTokens: number };
  }

  async state(): Promise<FakeState> {
    return (await (await fetch(`${this.worker.url}/fake`)).json()) as FakeState;
  }

  async mode(mode: string, after?: number): Promise<void> {
    expect((await this.post('/fake/mode', { mode, after })).status).toBe(200);
  }

  /** Waits, within bounds, until the state is as told. */
  async until(expected: Partial<FakeState>): Promise<void> {
    await expect.poll(() => this.state(), { timeout: 20_000, interval: 2 }).toMatchObject(expected);
  }
}

/** The data of an event stream, `[DONE]` at the end. */
export function chunksOf(text: string): Completion[] {
  const events = text.split('\n\n');
  expect(events.splice(-2)).toEqual(['data: [DONE]', '']);
  return events.map((event) => {
    expect(event).toMatch(/^data: \{/);
    return JSON.parse(event.slice('data: '.length)) as Completion;
  });
}

export const user = (content: string): Message => ({ role: 'user', content });
