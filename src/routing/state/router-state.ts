import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { outOfRange } from '../../errors.js';
import { checkName } from '../../validate.js';
import type { AdmittedAs, IgnoredHooks } from '../types.js';
import { type RequestRecord, RequestTable } from './request-table.js';
import { SessionRecord, SessionTable } from './session-table.js';
import { type WorkerRecord, WorkerTable } from './worker-table.js';

/** What names of anonymous sessions begin with in the index: no named session may. */
const ANONYMOUS = '\u0000';

export interface StateSettings {
  readonly maxSessions: number;
  readonly sessionIdleMs: number;
  readonly maxRequests: number;
  readonly requestIdleMs: number;
  readonly rejectTtlMs: number;
  readonly workHalfLifeMs: number;
}

export interface StateEvents {
  /** A named session ended; it owns nothing any more. */
  sessionEnded(session: SessionRecord): void;
  /** A request is under way no longer; its hashes are free. */
  requestEnded(request: RequestRecord): void;
}

type HookProblem = keyof IgnoredHooks;

/**
 * Who is under way where: workers with their load, sessions with their homes and refusals, requests with their phase. Knows
 * no index. Hooks answer the request that they moved on, or undefined when they changed nothing: then they are counted in
 * `ignoredHooks`. No order of calls takes back what was not added: every figure of load is the sum of its requests.
 */
export class RouterState {
  readonly workers: WorkerTable;
  readonly sessions: SessionTable;
  readonly requests: RequestTable;
  readonly counters = {
    routed: 0,
    dispatched: 0,
    finished: 0,
    errors: 0,
    rejects: 0,
    givenUp: 0,
    migrations: 0,
  };
  readonly ignoredHooks: Record<HookProblem, number> = { unknown: 0, repeated: 0, outOfOrder: 0 };
  readonly #settings: StateSettings;
  readonly #events: StateEvents;
  /** Tells apart the anonymous sessions of routers that restore each other's snapshots. */
  readonly #names = `${ANONYMOUS}${randomUUID()}-`;
  #anonymous = 0;
  #dispatches = 0;
  /** Waiters whose request's prefill is over, to be called when the books are in order. */
  #told: (() => void)[] = [];

  constructor(settings: StateSettings, events: StateEvents, nowMs: number) {
    this.#settings = settings;
    this.#events = events;
    this.workers = new WorkerTable(settings.workHalfLifeMs, nowMs);
    this.sessions = new SessionTable(settings.maxSessions, (session) => events.sessionEnded(session));
    this.requests = new RequestTable(settings.maxRequests);
  }

  // ---------------------------------------------------------------------------------------------------- sessions

  /** The session of a request, or a new one (without a name one of its own), which is not remembered yet. */
  sessionOf(name: string | undefined, nowMs: number): SessionRecord {
    const known = name === undefined ? undefined : this.sessions.peek(name);
    return (
      known ?? new SessionRecord(name ?? `${this.#names}${++this.#anonymous}`, name !== undefined, nowMs)
    );
  }

  refusals(session: SessionRecord, worker: WorkerRecord, nowMs: number): number {
    return session.refusals(worker, nowMs, this.#settings.rejectTtlMs);
  }

  // --------------------------------------------------------------------------------------------------- life-cycle

  /** The request is under way, its session remembered and most recent. */
  routed(request: RequestRecord): void {
    if (request.session.named) this.sessions.touch(request.session, request.lastMs);
    this.counters.routed += 1;
    const idlest = this.requests.add(request);
    if (idlest) this.#giveUp(idlest);
  }

  /** The routed request is to go to this worker, which holds so much of it; undefined: to none at present. */
  place(request: RequestRecord, worker: WorkerRecord | undefined, overlapBlocks = 0, cachedTokens = 0): void {
    if (request.worker) this.workers.removeRouted(request);
    request.worker = worker;
    request.overlapBlocks = overlapBlocks;
    request.cachedTokens = cachedTokens;
    request.newTokens = request.inputLength - cachedTokens;
    if (worker) this.workers.addRouted(request);
  }

  dispatched(id: string, admitted: AdmittedAs | undefined, nowMs: number): RequestRecord | undefined {
    const request = this.#hook(id, nowMs);
    if (!request) return undefined;
    if (request.phase !== 'routed') return this.#ignore('repeated');
    const { worker, session } = request;
    if (!worker) return this.#ignore('outOfOrder');
    this.workers.removeRouted(request);
    request.phase = 'prefill';
    request.dispatchedMs = nowMs;
    this.workers.addLoad(request);
    this.counters.dispatched += 1;
    session.dispatched(request, ++this.#dispatches);
    if (request.migrated) this.counters.migrations += 1;
    if (admitted !== undefined && admitted !== 'fallback') session.succeeded(worker);
    return request;
  }

  firstToken(id: string, nowMs: number): RequestRecord | undefined {
    const request = this.#hook(id, nowMs);
    if (!request) return undefined;
    if (request.phase === 'routed') return this.#ignore('outOfOrder');
    if (request.phase === 'decode') return this.#ignore('repeated');
    this.workers.prefillOver(request);
    request.phase = 'decode';
    request.session.settled(request);
    request.session.succeeded(request.worker!);
    this.#prefilled(request);
    return request;
  }

  /** The request ended well. `use` is called with it before its hashes are given back. */
  finished(id: string, nowMs: number, use: (request: RequestRecord) => void): boolean {
    const request = this.#hook(id, nowMs);
    if (!request) return false;
    if (request.phase === 'routed') return this.#ignore('outOfOrder') !== undefined;
    request.session.succeeded(request.worker!);
    this.counters.finished += 1;
    try {
      use(request);
    } finally {
      this.#end(request);
    }
    return true;
  }

  failed(id: string, nowMs: number): boolean {
    const request = this.#hook(id, nowMs);
    if (!request) return false;
    this.counters.errors += 1;
    this.#end(request);
    return true;
  }

  /** The request's worker refused it, before or after it was dispatched. */
  rejected(id: string, nowMs: number): RequestRecord | undefined {
    const request = this.#hook(id, nowMs);
    if (!request) return undefined;
    const { worker, session } = request;
    if (!worker) return this.#ignore('repeated');
    if (request.phase === 'decode') return this.#ignore('outOfOrder');
    if (request.phase === 'prefill') {
      this.workers.removeLoad(request);
      this.workers.takeBackWork(request);
      request.phase = 'routed';
      this.workers.addRouted(request);
    }
    this.place(request, undefined);
    session.refused(request, worker, nowMs, this.#settings.rejectTtlMs);
    request.refusedBy.push(worker);
    this.counters.rejects += 1;
    this.#prefilled(request);
    return request;
  }

  /** A routed request that waits for its dispatch or for another worker; ERR_KVIDX_OUT_OF_RANGE for any other id. */
  waiting(id: unknown, nowMs: number): RequestRecord {
    const request = this.requests.get(checkName('requestId', id), nowMs);
    if (request?.phase === 'routed') return request;
    throw outOfRange('requestId', 'that of a request that is routed and not dispatched', id);
  }

  // ------------------------------------------------------------------------------------------ ends of many at once

  /** Requests under way on a worker end as errors (their ids are answered); routed ones wait for another worker. */
  abandon(worker: WorkerRecord): string[] {
    const lost: string[] = [];
    for (const request of this.requests.on(worker)) {
      if (request.phase === 'routed') {
        this.place(request, undefined);
        continue;
      }
      lost.push(request.id);
      this.counters.errors += 1;
      this.#end(request);
    }
    return lost;
  }

  expire(nowMs: number): void {
    for (const request of this.requests.idle(nowMs - this.#settings.requestIdleMs)) {
      this.requests.delete(request);
      this.#giveUp(request);
    }
    this.sessions.endIdle(nowMs - this.#settings.sessionIdleMs);
  }

  #hook(id: unknown, nowMs: number): RequestRecord | undefined {
    return this.requests.get(checkName('requestId', id), nowMs) ?? this.#ignore('unknown');
  }

  #ignore(problem: HookProblem): undefined {
    this.ignoredHooks[problem] += 1;
    return undefined;
  }

  #end(request: RequestRecord): void {
    this.requests.delete(request);
    this.#letGo(request);
  }

  #giveUp(request: RequestRecord): void {
    this.counters.givenUp += 1;
    this.#letGo(request);
  }

  #letGo(request: RequestRecord): void {
    if (request.phase === 'routed') this.place(request, undefined);
    else this.workers.removeLoad(request);
    request.session.settled(request);
    this.#events.requestEnded(request);
    this.#prefilled(request);
  }

  #prefilled(request: RequestRecord): void {
    if (request.whenPrefilled.length === 0) return;
    this.#told.push(...request.whenPrefilled);
    request.whenPrefilled = [];
  }

  /** Calls who waited for what ended since. They may call anything, so this comes last in a hook. */
  tell(): void {
    if (this.#told.length === 0) return;
    const told = this.#told;
    this.#told = [];
    for (const callback of told) callWaiter(callback);
  }
}

/** What a waiter throws is no matter of the hook that calls it. */
export function callWaiter(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    process.emitWarning(inspect(error), 'KvidxWarning');
  }
}

/** A named session must not look like an anonymous one. */
export function checkSession(session: unknown): string | undefined {
  if (session === undefined) return undefined;
  const name = checkName('session', session);
  if (name.startsWith(ANONYMOUS)) throw outOfRange('session', 'a name that does not begin with NUL', session);
  return name;
}
