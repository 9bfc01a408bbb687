import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { CompletionRequest } from '../openai/requests.js';
import type { FinishReason } from './answers.js';

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
}

/** How an answer goes to its client. */
export interface AnswerWriter {
  /** The request was accepted: an engine that streams says so before it has the first token. */
  begin(): void;
  /** The last piece comes with a reason. Resolves when the client is ready for more. */
  write(piece: string, finishReason: FinishReason | null): Promise<void>;
  end(usage: Usage): void;
}

/** `hungUp` ends a wait for a client that reads slowly. */
export function writerFor(
  request: CompletionRequest,
  response: ServerResponse,
  hungUp: AbortSignal,
): AnswerWriter {
  return request.stream ? new Stream(request, response, hungUp) : new Whole(request, response);
}

/** What is the same in all parts of one answer, with the choices behind it. */
function head({ kind, model }: CompletionRequest, object: string) {
  const id = `${kind === 'chat' ? 'chatcmpl' : 'cmpl'}-${randomUUID()}`;
  return { id, object, created: Math.floor(Date.now() / 1000), model };
}

/** Server-sent events, as vLLM sends them. */
class Stream implements AnswerWriter {
  readonly #request: CompletionRequest;
  readonly #response: ServerResponse;
  readonly #hungUp: AbortSignal;
  readonly #head: object;
  #hasBegun = false;

  constructor(request: CompletionRequest, response: ServerResponse, hungUp: AbortSignal) {
    this.#request = request;
    this.#response = response;
    this.#hungUp = hungUp;
    this.#head = head(request, request.kind === 'chat' ? 'chat.completion.chunk' : 'text_completion');
  }

  begin(): void {
    this.#response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
    });
    this.#response.flushHeaders();
  }

  async write(piece: string, finishReason: FinishReason | null): Promise<void> {
    const isChat = this.#request.kind === 'chat';
    let events = '';
    if (isChat && !this.#hasBegun) events = this.#choice({ delta: { role: 'assistant', content: '' } }, null);
    this.#hasBegun = true;
    events += this.#choice(isChat ? { delta: { content: piece } } : { text: piece }, finishReason);
    const isTaken = this.#response.write(events);
    if (!isTaken) await once(this.#response, 'drain', { signal: this.#hungUp });
  }

  end(usage: Usage): void {
    const told = this.#request.includeUsage ? this.#event({ choices: [], usage }) : '';
    this.#response.end(`${told}data: [DONE]\n\n`);
  }

  #choice(part: object, finishReason: FinishReason | null): string {
    return this.#event({ choices: [{ index: 0, ...part, logprobs: null, finish_reason: finishReason }] });
  }

  #event(fields: object): string {
    return `data: ${JSON.stringify({ ...this.#head, ...fields })}\n\n`;
  }
}

/** All in one piece. */
class Whole implements AnswerWriter {
  readonly #request: CompletionRequest;
  readonly #response: ServerResponse;
  #text = '';
  #finishReason: FinishReason | null = null;

  constructor(request: CompletionRequest, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
  }

  begin(): void {}

  async write(piece: string, finishReason: FinishReason | null): Promise<void> {
    this.#text += piece;
    this.#finishReason = finishReason;
  }

  end(usage: Usage): void {
    const isChat = this.#request.kind === 'chat';
    const content = isChat ? { message: { role: 'assistant', content: this.#text } } : { text: this.#text };
    const body = JSON.stringify({
      ...head(this.#request, isChat ? 'chat.completion' : 'text_completion'),
      choices: [{ index: 0, ...content, logprobs: null, finish_reason: this.#finishReason }],
      usage,
    });
    this.#response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    });
    this.#response.end(body);
  }
}
