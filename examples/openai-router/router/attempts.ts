import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import type { Decision, Router } from 'kvidx';
import type { Dispatcher } from 'undici';
import { type Client, ClientGone } from './client.js';
import type { Entry, Journal } from './journal.js';
import type { Question } from './question.js';
import { type Answer, callWorker, UpstreamFailure } from './upstream.js';
import { noneIsUp, type Workers } from './workers.js';

const PATHS = { chat: '/v1/chat/completions', text: '/v1/completions' };
/** What of a client's headers its worker gets. */
const FORWARDED = ['accept', 'authorization', 'x-request-id'];

export interface AttemptsOptions {
  readonly router: Router;
  readonly workers: Workers;
  readonly journal: Journal;
  readonly dispatcher: Dispatcher;
  readonly log: Pick<FastifyBaseLogger, 'error' | 'info'>;
  /** Workers that are tried for one request: one that kills engines must not get to all of them. */
  readonly maxAttempts: number;
  /** Of streams. */
  readonly firstByteMs: number;
  /** Of answers in one piece. */
  readonly answerMs: number;
  readonly idleMs: number;
}

/** A request that a worker answers. */
export interface Begun {
  readonly answer: Answer;
  readonly decision: Decision;
  readonly entry: Entry;
}

/** Finds a worker that answers: one that fails before it answered anything is replaced by another one. */
export class Attempts {
  readonly #options: AttemptsOptions;
  /** Of requests of which nothing was answered yet, by the router's id. */
  readonly #waiting = new Map<string, AbortController>();

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** Throws OpenAiError, or the reason why the client is given up. */
  async begin(question: Question, client: Client): Promise<Begun> {
    const { workers, journal, maxAttempts } = this.#options;
    const { request, session, tokens } = question;
    const unfit = new Set(workers.without(request.model));
    let decision = this.#route(question, unfit);
    if (!decision) {
      journal.refused();
      throw noneIsUp();
    }
    const entry = journal.begin({ session, model: request.model, promptTokens: tokens.length }, decision);
    try {
      for (let attempts = 1; ; attempts++) {
        const { worker } = decision;
        const answer = await this.#ask(question, decision, entry, client);
        if (!(answer instanceof UpstreamFailure)) return { answer, decision, entry };
        unfit.add(worker);
        // What one worker did not compute in time another one would not either.
        const isHopeless = answer.failure === 'silent' && !request.stream;
        decision = isHopeless || attempts === maxAttempts ? undefined : this.#route(question, unfit);
        if (!decision) throw answer.worded(worker);
      }
    } catch (error) {
      entry.ended(error instanceof ClientGone ? 'abandoned' : 'failed', (error as Error).message);
      throw error;
    }
  }

  /** Requests that were under way on a worker that went down: those of which nothing was answered go to another one. */
  lost(requestIds: readonly string[], reason: string): void {
    for (const id of requestIds) this.#waiting.get(id)?.abort(new UpstreamFailure('cut', reason));
  }

  /** Answers a failure where another worker may be tried. */
  async #ask(
    { kind, headers, raw, request }: Question,
    decision: Decision,
    entry: Entry,
    client: Client,
  ): Promise<Answer | UpstreamFailure> {
    const { router, workers, dispatcher, firstByteMs, answerMs, idleMs } = this.#options;
    const { requestId, worker } = decision;
    const controller = client.renew();
    this.#waiting.set(requestId, controller);
    try {
      entry.sent(decision);
      router.onDispatch(requestId);
      const answer = await callWorker({
        dispatcher,
        url: workers.urlOf(worker) + PATHS[kind],
        headers: forwarded(headers, requestId),
        body: raw,
        controller,
        patienceMs: request.stream ? firstByteMs : answerMs,
        idleMs,
      });
      workers.worked(worker);
      if (answer.isStream) entry.firstToken();
      if (answer.status < 400) router.onFirstToken(requestId);
      return answer;
    } catch (error) {
      controller.abort(error);
      const isUpstream = error instanceof UpstreamFailure;
      // A session's refusals keep it from a worker for a while; a connection that breaks says nothing of the session.
      if (isUpstream && error.failure !== 'cut') router.onReject(requestId);
      router.onError(requestId);
      if (!isUpstream) throw error;
      troubled(this.#options, worker, error);
      return error;
    } finally {
      this.#waiting.delete(requestId);
    }
  }

  /** Undefined: no worker is left. */
  #route({ session, tokens, namespace }: Question, unfit: ReadonlySet<string>): Decision | undefined {
    const { router, workers } = this.#options;
    const left = router.workers().filter(({ name, status }) => status === 'up' && !unfit.has(name));
    if (left.length === 0) return undefined;
    const onHold = workers.onHold();
    // Where all are on hold one of them may work all the same.
    const without = left.every(({ name }) => onHold.includes(name)) ? unfit : new Set([...unfit, ...onHold]);
    // Not the router's own numbers: engines may serve several routers, and refuse an id that they know.
    const requestId = randomUUID();
    try {
      const decision = router.route({
        requestId,
        tokens,
        ...(session !== undefined && { session }),
        ...(namespace && { namespace }),
      });
      return without.has(decision.worker) ? router.reroute(requestId, { without }) : decision;
    } catch (error) {
      router.onError(requestId);
      throw error;
    }
  }
}

/** It failed to answer, or in the middle of its answer. */
export function troubled(
  { workers, log }: Pick<AttemptsOptions, 'workers' | 'log'>,
  worker: string,
  failure: UpstreamFailure,
): void {
  workers.troubled(worker, failure);
  if (failure.cause) log.info(`${worker} ${failure.message}: ${(failure.cause as Error).message}`); // clients are told no addresses
}

function forwarded(headers: IncomingHttpHeaders, requestId: string): Record<string, string> {
  const given = FORWARDED.flatMap((name) =>
    typeof headers[name] === 'string' ? [[name, headers[name]]] : [],
  );
  return { 'x-request-id': requestId, ...Object.fromEntries(given), 'content-type': 'application/json' };
}
