import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { OpenAiError } from '../openai/errors.js';
import type { PromptTokenizer } from '../openai/prompt.js';
import { Attempts, type AttemptsOptions } from './attempts.js';
import { Client, ClientGone } from './client.js';
import { type Arrived, readQuestion } from './question.js';
import { relay } from './relay.js';

const NOTHING = Buffer.alloc(0);

export interface CompletionsOptions extends AttemptsOptions {
  readonly prompts: PromptTokenizer;
}

/** Requests from their arrival to their end: each ends in the router's state, however it ends. */
export class Completions {
  readonly #options: CompletionsOptions;
  readonly #attempts: Attempts;
  readonly #underWay = new Map<Client, Promise<void>>();
  #isClosing = false;

  constructor(options: CompletionsOptions) {
    this.#options = options;
    this.#attempts = new Attempts(options);
  }

  /** Answers the request. Throws OpenAiError while nothing is written; later errors end the answer. */
  async serve(arrived: Arrived, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#isClosing) throw shuttingDown();
    const client = new Client(request, response);
    const served = this.#serve(arrived, client).finally(() => {
      client.release();
      this.#underWay.delete(client);
    });
    this.#underWay.set(client, served);
    return served;
  }

  /** Requests that were under way on a worker that went down: those of which nothing was answered go to another one. */
  lost(requestIds: readonly string[], reason: string): void {
    this.#attempts.lost(requestIds, reason);
  }

  /** Takes no more requests. Resolves when none is under way: they end by themselves, or are ended after so long. */
  async close(patienceMs: number): Promise<void> {
    this.#isClosing = true;
    const timer = setTimeout(() => {
      for (const client of this.#underWay.keys()) client.abort(shuttingDown());
    }, patienceMs);
    await Promise.allSettled(this.#underWay.values());
    clearTimeout(timer);
    await turn(); // by then is answered what `serve` threw
  }

  async #serve(arrived: Arrived, client: Client): Promise<void> {
    const { response } = client;
    try {
      const begun = await this.#begin(arrived, client);
      arrived.raw = NOTHING; // who called holds it for as long as the answer takes
      await relay(begun, client, this.#options);
    } catch (error) {
      if (error instanceof ClientGone) {
        response.destroy();
      } else if (!response.headersSent) {
        throw error;
      } else if (error instanceof OpenAiError) {
        client.fail(error);
      } else {
        this.#options.log.error(error);
        response.destroy();
      }
    }
  }

  /** By itself, as what it knows of the prompt is let go when it ends. */
  async #begin(arrived: Arrived, client: Client) {
    return this.#attempts.begin(await readQuestion(arrived, this.#options, client.renew().signal), client);
  }
}

function shuttingDown(): OpenAiError {
  return new OpenAiError(503, 'The router is shutting down.', { code: 'shutting_down', retryAfterS: 1 });
}
