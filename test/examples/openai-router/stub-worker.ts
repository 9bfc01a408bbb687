import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A completion that came to a stub worker. */
export interface Arrival {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: { readonly stream?: boolean; readonly [field: string]: unknown };
  readonly response: ServerResponse;
  /** Of the response: its client is gone, or it was answered. */
  readonly closed: Promise<unknown>;
}

export type AnswerOf = (arrival: Arrival) => unknown;

/** An engine that answers as a test says. */
export class StubWorker {
  /** What becomes of a completion. */
  answer: AnswerOf = ({ body, response }) =>
    (body.stream ? streamed('Hello', ' world') : whole)({ response });
  healthStatus = 200;
  models: readonly { readonly id: string; readonly parent?: string | null }[] = [{ id: 'm' }];
  /** Completions that came. */
  readonly arrivals: Arrival[] = [];
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;

  static async start(given: Partial<StubWorker> = {}): Promise<StubWorker> {
    const worker = Object.assign(new StubWorker(), given);
    await worker.start();
    return worker;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** On the port that it had. */
  async start(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response));
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** As a process that dies: all its connections break, and no others are taken. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    const closed = once(server, 'close');
    server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = '', headers } = request;
    if (path === '/health') return void response.writeHead(this.healthStatus).end();
    if (path === '/v1/models') return void response.end(JSON.stringify({ data: this.models }));
    const closed = once(response, 'close');
    const body = JSON.parse((await buffer(request)).toString());
    const arrival = { path, headers, body, response, closed };
    this.arrivals.push(arrival);
    this.answer(arrival);
  }
}

type Answered = Pick<Arrival, 'response'>;

export const DONE = 'data: [DONE]\n\n';
export const EVENT_STREAM = { 'content-type': 'text/event-stream; charset=utf-8' };

/** A chunk of a chat. */
export function event(content: string): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: null }];
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm', choices })}\n\n`;
}

/** A stream of these pieces, and its end. */
export function streamed(...contents: string[]) {
  return ({ response }: Answered) =>
    response.writeHead(200, EVENT_STREAM).end(contents.map(event).join('') + DONE);
}

/** The beginning of a stream; resolves when it is on its way. */
export async function begun({ response }: Answered, text: string): Promise<void> {
  response.writeHead(200, EVENT_STREAM);
  response.flushHeaders();
  if (text !== '') await new Promise((resolve) => response.write(text, resolve));
}

/** In one piece, with what was cached. */
export function whole({ response }: Answered): void {
  answerJson(response, 200, {
    id: 'c',
    object: 'chat.completion',
    created: 0,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello world' }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: 10,
      completion_tokens: 2,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 3 },
    },
  });
}

/** A refusal, worded as OpenAI would. */
export function refusing(status: number, headers: Record<string, string> = {}) {
  return ({ response }: Answered) =>
    answerJson(
      response,
      status,
      { error: { message: `no: ${status}`, type: 't', param: null, code: 'c' } },
      headers,
    );
}

export function answerJson(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
