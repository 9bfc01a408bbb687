import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Decision, Router } from 'kvidx';
import type { Dispatcher } from 'undici';
import { type OpenAiError, overloaded, upstreamFailed, upstreamTimeout } from '../openai/errors.js';
import type { Entry, Journal } from './journal.js';
import type { Question } from './question.js';
import { Tail } from './sse.js';
import { type Answer, callWorker, UpstreamFailure } from './upstream.js';
import { noneIsUp, type Workers } from './workers.js';

const PATHS = { chat: '/v1/chat/completions', text: '/v1/completions' };
/** What of a client's headers its worker gets. */
const FORWARDED = ['accept', 'authorization', 'x-request-id'];

export interface CompletionsOptions {
  readonly router: Router;
  readonly workers: Workers;
  readonly journal: Journal;
  readonly dispatcher: Dispatcher;
  /** Of streams. */
  readonly firstByteMs: number;
  /** Of answers in one piece. */
  readonly answerMs: number;
  readonly idleMs: number;
}

/** The client hung up, or does not read. */
class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** What is under way at a worker. */
interface Attempt {
  readonly requestId: string;
  readonly worker: string;
  readonly entry: Entry;
  readonly response: ServerResponse;
  readonly controller: AbortController;
}

/** Brings requests to workers and their answers back: each ends in the router's state, however it ends. */
export class Completions {
  readonly #options: CompletionsOptions;
  /** Of requests of which nothing was answered yet, by the router's id. */
  readonly #unanswered = new Map<string, AbortController>();

  constructor(options: CompletionsOptions) {
    this.#options = options;
  }

  /**
   * Answers the request. A worker that fails before it answered anything is replaced by another one, each at most once.
   * Throws OpenAiError while nothing is written; later errors end the answer.
   */
  async serve(question: Question, response: ServerResponse): Promise<void> {
    const { workers, journal } = this.#options;
    const { request, session, tokens } = question;
    const tried = new Set(workers.without(request.model));
    let decision = this.#route(question, tried);
    if (!decision) throw noneIsUp();
    const entry = journal.begin({ session, model: request.model, promptTokens: tokens.length }, decision);
    for (;;) {
      const { worker } = decision;
      tried.add(worker);
      entry.sent(decision);
      const failure = await this.#attempt(question, decision, entry, response);
      if (!failure) return;
      decision = this.#route(question, tried);
      if (decision) continue;
      const error = worded(failure, worker);
      entry.ended('failed', error.message);
      throw error;
    }
  }

  /** Requests that were under way on a worker that went down: those of which nothing was answered go to another one. */
  lost(requestIds: readonly string[], reason: string): void {
    for (const id of requestIds) this.#unanswered.get(id)?.abort(new UpstreamFailure('cut', reason));
  }

  /** Answers why nothing was written, so that another worker may be tried. */
  async #attempt(
    { kind, headers, raw, request }: Question,
    { requestId, worker, cachedTokens }: Decision,
    entry: Entry,
    response: ServerResponse,
  ): Promise<UpstreamFailure | undefined> {
    const { router, workers, dispatcher, firstByteMs, answerMs, idleMs } = this.#options;
    const controller = new AbortController();
    const hungUp = () => controller.abort(new ClientGone('the client hung up'));
    response.once('close', hungUp);
    this.#unanswered.set(requestId, controller);
    router.onDispatch(requestId);
    try {
      if (response.destroyed) hungUp();
      const answer = await callWorker({
        dispatcher,
        url: workers.urlOf(worker) + PATHS[kind],
        headers: forwarded(headers, requestId),
        body: raw,
        controller,
        firstByteMs: request.stream ? firstByteMs : answerMs,
        idleMs,
      });
      this.#unanswered.delete(requestId);
      router.onFirstToken(requestId);
      entry.firstToken();
      response.writeHead(answer.status, {
        'content-type': answer.contentType,
        'cache-control': 'no-cache',
        'x-kvidx-worker': worker,
        'x-kvidx-request-id': requestId,
        'x-kvidx-expected-tokens': cachedTokens,
      });
      const told = await forward(answer, response, controller, idleMs);
      if (told !== undefined) entry.told(told);
      if (answer.status < 400) {
        router.onFinish(requestId);
        entry.ended('finished');
      } else {
        router.onError(requestId);
        entry.ended('failed', `answered ${answer.status}`);
      }
      response.end();
      return undefined;
    } catch (error) {
      return this.#failed(error, { requestId, worker, entry, response, controller });
    } finally {
      response.off('close', hungUp);
      this.#unanswered.delete(requestId);
    }
  }

  #failed(
    error: unknown,
    { requestId, worker, entry, response, controller }: Attempt,
  ): UpstreamFailure | undefined {
    const { router, workers } = this.#options;
    const isAnswered = response.headersSent;
    if (!(error instanceof UpstreamFailure)) {
      const isGone = error instanceof ClientGone;
      controller.abort(error);
      router.onError(requestId);
      entry.ended(isGone ? 'abandoned' : 'failed', (error as Error).message);
      if (!isGone && !isAnswered) throw error;
      response.destroy();
      return undefined;
    }
    // A session's refusals keep it from a worker for a while; a connection that breaks says nothing of the session.
    if (error.failure !== 'cut' && !isAnswered) router.onReject(requestId);
    router.onError(requestId);
    if (error.failure !== 'refused') void workers.suspect(worker);
    if (!isAnswered) return error;
    const cause = worded(error, worker);
    entry.ended('failed', cause.message);
    // Only whole events were written before it: official clients take an event like this for the error that it is.
    response.end(`data: ${JSON.stringify(cause.body())}\n\n`);
    return undefined;
  }

  /** Undefined: no worker is left. */
  #route({ session, tokens, namespace }: Question, tried: ReadonlySet<string>): Decision | undefined {
    const { router } = this.#options;
    if (!router.workers().some(({ name, status }) => status === 'up' && !tried.has(name))) return undefined;
    const decision = router.route({
      tokens,
      ...(session !== undefined && { session }),
      ...(namespace && { namespace }),
    });
    return tried.has(decision.worker) ? router.reroute(decision.requestId, { without: tried }) : decision;
  }
}

function forwarded(headers: IncomingHttpHeaders, requestId: string): Record<string, string> {
  const given = FORWARDED.flatMap((name) =>
    typeof headers[name] === 'string' ? [[name, headers[name]]] : [],
  );
  return { 'x-request-id': requestId, ...Object.fromEntries(given), 'content-type': 'application/json' };
}

/** Answers the cached tokens that the worker told, if it did. */
async function forward(
  { pieces }: Answer,
  response: ServerResponse,
  controller: AbortController,
  patienceMs: number,
): Promise<number | undefined> {
  const tail = new Tail();
  for await (const piece of pieces) {
    tail.push(piece);
    if (!response.write(piece)) await untilDrained(response, controller, patienceMs);
  }
  return tail.cachedTokens();
}

/** The worker waits as well, so that a client that does not read must not keep it for ever. */
async function untilDrained(response: ServerResponse, controller: AbortController, patienceMs: number) {
  const giveUp = () => controller.abort(new ClientGone(`the client did not read for ${patienceMs} ms`));
  const timer = setTimeout(giveUp, patienceMs);
  try {
    await once(response, 'drain', { signal: controller.signal });
  } catch {
    throw controller.signal.reason ?? new ClientGone('the connection to the client broke');
  } finally {
    clearTimeout(timer);
  }
}

function worded({ failure, message, retryAfterS }: UpstreamFailure, worker: string): OpenAiError {
  const text = `Worker ${worker} ${message}.`;
  if (failure === 'refused') return overloaded(text, retryAfterS ?? 1);
  return failure === 'silent' ? upstreamTimeout(text) : upstreamFailed(text);
}
