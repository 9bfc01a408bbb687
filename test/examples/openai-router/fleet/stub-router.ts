import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type {
  DecisionTold,
  StateOfRouter,
  StateOfWorker,
  Totals,
} from '../../../../examples/openai-router/router/state.js';

const PAGE = new URL('../../../../examples/openai-router/router/page.html', import.meta.url);

/** Serves the page, and the state that it is given; for what a real router does not do at will. */
export class StubRouter {
  state: StateOfRouter = stateOf();
  /** Instead of the state. */
  status = 200;
  readonly #server = createServer((request, response) => this.#answer(request, response));
  #port = 0;

  static async start(): Promise<StubRouter> {
    const stub = new StubRouter();
    await stub.start();
    return stub;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  /** The same port again, if it had one. */
  async start(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.url === '/') {
      response.setHeader('content-type', 'text/html; charset=utf-8').end(readFileSync(PAGE));
    } else if (request.url === '/debug/state' && this.status === 200) {
      const json = JSON.stringify({ ...this.state, nowAt: Date.now() });
      response.setHeader('content-type', 'application/json').end(json);
    } else {
      response.writeHead(request.url === '/debug/state' ? this.status : 404).end();
    }
  }
}

export function stateOf(changes: Partial<StateOfRouter> = {}): StateOfRouter {
  return {
    nowAt: Date.now(),
    startedAt: Date.now() - 60_000,
    policy: 'kv-aware:overlap=fair:k=200:by=work',
    blockSize: 24,
    tokenizer: 'o200k_base',
    models: ['kvidx-fake'],
    totals: totalsOf(),
    workers: [workerOf('w0'), workerOf('w1'), workerOf('w2')],
    decisions: [],
    ...changes,
  };
}

export function totalsOf(changes: Partial<Totals> = {}): Totals {
  return {
    requests: 0,
    finished: 0,
    failed: 0,
    abandoned: 0,
    retries: 0,
    refused: 0,
    promptTokens: 0,
    expectedTokens: 0,
    toldPromptTokens: 0,
    toldCachedTokens: 0,
    ...changes,
  };
}

export function workerOf(name: string, changes: Partial<StateOfWorker> = {}): StateOfWorker {
  return {
    name,
    url: 'http://127.0.0.1:8001',
    status: 'up',
    residency: 'exact',
    running: 0,
    pendingPrefillTokens: 0,
    requests: 0,
    promptTokens: 0,
    expectedTokens: 0,
    residentBlocks: 0,
    residencyAgeMs: 200,
    ...changes,
  };
}

export function decisionOf(requestId: string, changes: Partial<DecisionTold> = {}): DecisionTold {
  return {
    requestId,
    routedAt: Date.now(),
    session: 'chat-1',
    model: 'kvidx-fake',
    worker: 'w0',
    promptTokens: 1000,
    expectedTokens: 960,
    cachedTokens: 960,
    attempts: 1,
    outcome: 'finished',
    firstTokenMs: 12.4,
    totalMs: 210,
    ...changes,
  };
}
