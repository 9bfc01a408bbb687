import { Readable } from 'node:stream';
import { type Dispatcher, request } from 'undici';
import { type OpenAiError, overloaded, upstreamFailed, upstreamTimeout } from '../openai/errors.js';
import { endsInDone, errorIn, hasData, WholeEvents } from './sse.js';

/** Of a request: that of a larger one is not kept while it is answered. */
const KEPT_BYTES = 256 * 1024;
/** Of an answer in one piece; a larger one is given up. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_SAID_CHARS = 300;
/** Of one event of a stream, which is kept until it is whole. */
const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/**
 * `refused`: the worker says that it is full. `error`: it answered with an error of its own. `silent`: nothing came in time.
 * `cut`: it could not be reached, or the connection broke.
 */
export type Failure = 'refused' | 'error' | 'silent' | 'cut';

/** A worker did not answer a request, or not to its end. */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';

  constructor(
    readonly failure: Failure,
    message: string,
    readonly retryAfterS?: number,
    cause?: unknown,
  ) {
    super(message, { cause });
  }

  /** For the client. */
  worded(worker: string): OpenAiError {
    const text = `Worker ${worker} ${this.message}.`;
    if (this.failure === 'refused') return overloaded(text, this.retryAfterS ?? 1);
    return this.failure === 'silent' ? upstreamTimeout(text) : upstreamFailed(text);
  }
}

export interface UpstreamCall {
  readonly dispatcher: Dispatcher;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  /** Ends the call at any time; the reason of its abort is thrown then. */
  readonly controller: AbortController;
  /** Until there is something to forward. */
  readonly patienceMs: number;
  /** Until there is more. */
  readonly idleMs: number;
}

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly isStream: boolean;
  /** One piece at least. Of a stream of events whole events; of anything else all in one piece. */
  readonly pieces: AsyncIterable<Buffer>;
}

/**
 * Sends a request to a worker. Resolves when there is something to forward: the first events that say anything, or the whole
 * of an answer in one piece. Rejects, or `pieces` throws, with UpstreamFailure or the reason of an abort, within `patienceMs`
 * or `idleMs` of silence. Who does not read `pieces` to their end aborts.
 */
export async function callWorker(call: UpstreamCall): Promise<Answer> {
  const { dispatcher, url, headers, body, controller, patienceMs, idleMs } = call;
  const silence = new Silence(controller);
  try {
    silence.begin(patienceMs, 'did not answer within');
    const response = await request(url, {
      dispatcher,
      method: 'POST',
      headers,
      body: body.length <= KEPT_BYTES ? body : readOnce(body),
      signal: controller.signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const { statusCode: status } = response;
    if (isFailure(status)) throw await refusalIn(response);
    const contentType = String(response.headers['content-type'] ?? 'application/json');
    const isStream = contentType.startsWith('text/event-stream');
    const rest = isStream ? eventsOf(response.body) : onePieceOf(response.body);
    const first: Buffer = (await rest.next()).value!;
    const error = isStream ? errorIn(first) : undefined;
    if (error && isFailure(error.status)) throw refusal(error.status, error.message);
    return { status, contentType, isStream, pieces: piecesOf(first, rest, silence, controller, idleMs) };
  } catch (error) {
    const failure = failureOf(error, controller);
    controller.abort(failure);
    throw failure;
  } finally {
    silence.end();
  }
}

/** undici keeps a body until the answer has ended. Of one that was read there is nothing to keep; that costs half a millisecond. */
function readOnce(body: Buffer): Readable {
  const readable = new Readable({ read() {} });
  readable.push(body);
  readable.push(null);
  return readable;
}

async function* piecesOf(
  first: Buffer,
  rest: AsyncIterator<Buffer>,
  silence: Silence,
  controller: AbortController,
  idleMs: number,
) {
  let piece: Buffer | undefined = first;
  while (piece !== undefined) {
    yield piece; // whoever reads may take its time
    silence.begin(idleMs, 'was silent in the middle of its answer for');
    try {
      piece = (await rest.next()).value;
    } catch (error) {
      throw failureOf(error, controller);
    } finally {
      silence.end();
    }
  }
}

/** Where an engine dies its connection may end as if the answer did: only its last event tells these apart. */
async function* eventsOf(body: Readable): AsyncGenerator<Buffer, undefined> {
  const events = new WholeEvents();
  let last = events.rest();
  let hasBegun = false;
  for await (const piece of body) {
    const whole = events.push(piece);
    if (events.rest().length > MAX_EVENT_BYTES) throw tooLarge(MAX_EVENT_BYTES);
    hasBegun ||= hasData(whole);
    if (whole.length === 0 || !hasBegun) continue;
    yield whole;
    last = whole;
  }
  const rest = events.rest();
  if (!endsInDone(rest.length > 0 ? rest : last))
    throw new UpstreamFailure('cut', 'ended its answer before it was complete');
  if (rest.length > 0) yield rest;
}

async function* onePieceOf(body: Readable): AsyncGenerator<Buffer, undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES) throw tooLarge(MAX_ANSWER_BYTES);
    pieces.push(piece);
  }
  yield Buffer.concat(pieces);
}

function tooLarge(mostBytes: number): UpstreamFailure {
  return new UpstreamFailure('error', `answered more than ${mostBytes} bytes at once`);
}

/** Not the fault of the request: another worker may answer it. */
export function isFailure(status: number): boolean {
  return status === 429 || status >= 500;
}

async function refusalIn({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<UpstreamFailure> {
  const { value: text } = await onePieceOf(body).next();
  return refusal(statusCode, saidIn(String(text)), Number(headers['retry-after']));
}

export function refusal(status: number, said: string, retryAfterS = 0): UpstreamFailure {
  const isFull = status === 429 || status === 503;
  return new UpstreamFailure(
    isFull ? 'refused' : 'error',
    `answered ${status}: ${said.slice(0, MAX_SAID_CHARS)}`,
    retryAfterS > 0 ? retryAfterS : undefined,
  );
}

/** Of an error as the OpenAI API words it, its message. */
function saidIn(text: string): string {
  try {
    return String(JSON.parse(text).error.message);
  } catch {
    return text;
  }
}

function failureOf(error: unknown, { signal }: AbortController): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof UpstreamFailure) return error;
  return new UpstreamFailure('cut', troubleOf(error), undefined, error);
}

/** What a worker does that could not be reached, or not to the end: without its address, which messages of errors tell. */
export function troubleOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException;
  if (code === 'ECONNREFUSED') return 'refuses connections';
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'takes no connections';
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return 'does not answer in time';
  return `cut the connection (${code ?? name})`;
}

/** Aborts a call when nothing comes for too long. */
class Silence {
  #timer: NodeJS.Timeout | undefined;

  constructor(readonly controller: AbortController) {}

  begin(ms: number, what: string): void {
    const abort = () => this.controller.abort(new UpstreamFailure('silent', `${what} ${ms} ms`));
    this.#timer = setTimeout(abort, ms);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
