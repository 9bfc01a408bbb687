import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OpenAiError } from '../openai/errors.js';

/** Of a large answer, so much is written at once: a client that takes that in time does read. */
const SLICE_BYTES = 64 * 1024;

/** The client hung up, or does not read. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** Who asked: notices when they leave, and gets the answer as fast as they read it. */
export class Client {
  readonly response: ServerResponse;
  readonly #request: IncomingMessage;
  #controller = new AbortController();
  #reason: unknown;
  #isWithinPiece = false;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.response = response;
    // An answer that waits for the ones before it on its connection has no socket yet, and is not told that this closed.
    const { socket } = request;
    socket.setMaxListeners(0);
    socket.once('close', this.#hangUp);
    if (socket.destroyed) this.#hangUp();
  }

  /** Of what is done for the client next: another one for each attempt, as a worker's failure ends only that. */
  renew(): AbortController {
    this.#controller = new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller;
  }

  /** Ends what is done for the client, now and later. */
  abort(reason: unknown): void {
    this.#reason ??= reason;
    this.#controller.abort(reason);
  }

  /** Resolves when more may be written. Throws the reason of an abort, and ClientGone when nothing is read for so long. */
  async write(piece: Buffer, patienceMs: number): Promise<void> {
    this.#isWithinPiece = true;
    for (let at = 0; at < piece.length; at += SLICE_BYTES) {
      if (!this.response.write(piece.subarray(at, at + SLICE_BYTES))) await this.#drained(patienceMs);
    }
    this.#isWithinPiece = false;
  }

  /** Ends an answer that has begun: official clients take an event like this for the error that it is. */
  fail(error: OpenAiError): void {
    if (this.#isWithinPiece) this.response.destroy();
    else this.response.end(`data: ${JSON.stringify(error.body())}\n\n`);
  }

  /** It has its answer, or will get none: its connection may serve others. */
  release(): void {
    this.#request.socket.off('close', this.#hangUp);
  }

  readonly #hangUp = () => this.abort(new ClientGone('the client hung up'));

  /** The worker waits as well, so that a client that does not read must not keep it for ever. */
  async #drained(patienceMs: number): Promise<void> {
    const { signal } = this.#controller;
    const giveUp = () => this.abort(new ClientGone(`the client did not read for ${patienceMs} ms`));
    const timer = setTimeout(giveUp, patienceMs);
    try {
      await once(this.response, 'drain', { signal });
    } catch {
      throw signal.reason ?? new ClientGone('the connection to the client broke');
    } finally {
      clearTimeout(timer);
    }
  }
}
