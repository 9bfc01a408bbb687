import type { AdmittedAs, Decision, Residency } from '../../../src/routing/types.js';
import type { Life, Request, Session, Settings } from './model-types.js';

/*
 * A router as plain sums over lists: what `stats` must answer, slowly. It does not decide: it is told decisions, and
 * says whether they were allowed.
 */

export class Model {
  readonly settings: Settings;
  nowMs: number;
  readonly lives = new Map<string, Life>();
  /** Named sessions, the least recently routed first. */
  readonly sessions = new Map<string, Session>();
  /** The one longest untouched first. */
  readonly requests = new Map<string, Request>();
  /** Blocks of owners, the least recently owning first. */
  readonly owners = new Map<Session, { readonly blocks: Set<bigint>; lastMs: number }>();
  /** What is stored under names of workers. */
  readonly fed = new Map<string, Set<bigint>>();
  readonly counters = {
    routed: 0,
    dispatched: 0,
    finished: 0,
    errors: 0,
    rejects: 0,
    givenUp: 0,
    migrations: 0,
  };
  readonly ignoredHooks = { unknown: 0, repeated: 0, outOfOrder: 0 };
  /** Callbacks that were due. */
  told = 0;

  constructor(settings: Settings, nowMs: number) {
    this.settings = settings;
    this.nowMs = nowMs;
  }

  up(): Life[] {
    return [...this.lives.values()].filter(({ status }) => status === 'up');
  }

  join(name: string, residency: Residency): void {
    const present = this.lives.get(name);
    if (present?.status === 'up') return;
    const empty: Life = {
      name,
      residency,
      status: 'up',
      assigned: 0,
      work: 0,
      held: new Set(),
      told: new Set(),
    };
    const life = present?.status === 'draining' ? present : empty;
    const up = this.up();
    const others = up.length > 0 ? up : [...this.lives.values()].filter((each) => each !== life);
    if (others.length > 0) {
      life.assigned = Math.max(life.assigned, Math.min(...others.map(({ assigned }) => assigned)));
      life.work = Math.max(life.work, Math.min(...others.map(({ work }) => work)));
    }
    life.status = 'up';
    this.lives.set(name, life);
  }

  /** Answers the ids of requests that ended so. */
  fail(name: string): string[] {
    const life = this.lives.get(name)!;
    life.status = 'down';
    life.held.clear();
    life.told.clear();
    const lost: string[] = [];
    for (const request of [...this.requests.values()].filter((each) => each.life === life)) {
      if (request.phase === 'routed') {
        request.life = undefined;
        continue;
      }
      lost.push(request.id);
      this.counters.errors += 1;
      this.end(request);
    }
    return lost;
  }

  remove(name: string): string[] {
    const lost = this.fail(name);
    this.lives.delete(name);
    this.fed.delete(name);
    return lost;
  }

  sessionOf(name: string | undefined): Session {
    const known = name === undefined ? undefined : this.sessions.get(name);
    return known ?? { name, ended: false, lastMs: 0, visits: [], refusals: new Map<Life, never>() };
  }

  route(id: string, sessionName: string | undefined, hashes: BigUint64Array, inputLength: number): Request {
    const session = this.sessionOf(sessionName);
    if (sessionName !== undefined) {
      session.lastMs = this.nowMs;
      this.sessions.delete(sessionName);
      this.sessions.set(sessionName, session);
      for (const [name, each] of this.sessions) {
        if (this.sessions.size <= this.settings.maxSessions) break;
        this.endSession(name, each);
      }
    }
    const request: Request = {
      id,
      session,
      hashes,
      inputLength,
      phase: 'routed',
      life: undefined,
      newTokens: 0,
      migrated: false,
      refusedBy: new Set(),
      lastMs: this.nowMs,
      waiting: 0,
    };
    this.counters.routed += 1;
    this.requests.set(id, request);
    const [oldest] = this.requests.values();
    if (this.requests.size > this.settings.maxRequests) this.#giveUp(oldest!);
    return request;
  }

  /** The request goes where the router decided; `recordsAtRoute`: the estimate learns of it now. */
  place(request: Request, { worker, newTokens, migrated }: Decision, recordsAtRoute: boolean): void {
    request.life = this.lives.get(worker)!;
    request.newTokens = newTokens;
    request.migrated = migrated;
    if (recordsAtRoute) this.#record(request.life.told, request);
  }

  touch(id: string): Request | undefined {
    const request = this.requests.get(id);
    if (!request) return undefined;
    request.lastMs = this.nowMs;
    this.requests.delete(id);
    this.requests.set(id, request);
    return request;
  }

  onDispatch(id: string, admitted: AdmittedAs | undefined): boolean {
    const request = this.touch(id);
    if (!request) return this.#ignore('unknown');
    if (request.phase !== 'routed') return this.#ignore('repeated');
    const { life, session, newTokens, migrated } = request;
    if (!life) return this.#ignore('outOfOrder');
    request.phase = 'prefill';
    life.assigned += 1;
    life.work += newTokens;
    this.counters.dispatched += 1;
    if (!session.ended) session.visits.push({ request, life, movedMs: migrated ? this.nowMs : undefined });
    if (migrated) this.counters.migrations += 1;
    if (admitted !== undefined && admitted !== 'fallback') session.refusals.delete(life);
    if (!session.ended) this.#own(session, request.hashes);
    return true;
  }

  onFirstToken(id: string): boolean {
    const request = this.touch(id);
    if (!request) return this.#ignore('unknown');
    if (request.phase === 'routed') return this.#ignore('outOfOrder');
    if (request.phase === 'decode') return this.#ignore('repeated');
    request.phase = 'decode';
    request.session.refusals.delete(request.life!);
    this.#tell(request);
    return true;
  }

  onFinish(id: string): boolean {
    const request = this.touch(id);
    if (!request) return this.#ignore('unknown');
    if (request.phase === 'routed') return this.#ignore('outOfOrder');
    request.session.refusals.delete(request.life!);
    this.#record(request.life!.held, request);
    this.#record(request.life!.told, request);
    this.counters.finished += 1;
    this.end(request);
    return true;
  }

  onError(id: string): boolean {
    const request = this.touch(id);
    if (!request) return this.#ignore('unknown');
    this.counters.errors += 1;
    this.end(request);
    return true;
  }

  onReject(id: string): boolean {
    const request = this.touch(id);
    if (!request) return this.#ignore('unknown');
    const { life, session } = request;
    if (!life) return this.#ignore('repeated');
    if (request.phase === 'decode') return this.#ignore('outOfOrder');
    if (request.phase === 'prefill') {
      life.work -= request.newTokens;
      session.visits = session.visits.filter((visit) => visit.request !== request);
      request.phase = 'routed';
    }
    if (!session.ended) {
      session.refusals.set(life, { count: this.refusals(session, life) + 1, lastMs: this.nowMs });
    }
    request.refusedBy.add(life);
    request.life = undefined;
    this.counters.rejects += 1;
    this.#tell(request);
    return true;
  }

  whenPrefilled(id: string): void {
    const request = this.touch(id);
    if (request && request.phase !== 'decode') request.waiting += 1;
    else this.told += 1;
  }

  endSession(name: string, session = this.sessions.get(name)): number {
    if (!session) return 0;
    session.ended = true;
    session.visits = [];
    session.refusals.clear();
    this.sessions.delete(name);
    const owned = this.owners.get(session)?.blocks.size ?? 0;
    this.owners.delete(session);
    return owned;
  }

  expire(nowMs: number): void {
    const { requestIdleMs, sessionIdleMs } = this.settings;
    for (const request of [...this.requests.values()]) {
      if (request.lastMs <= nowMs - requestIdleMs) this.#giveUp(request);
    }
    for (const [name, { lastMs }] of [...this.sessions]) {
      if (lastMs <= nowMs - sessionIdleMs) this.endSession(name);
    }
    for (const [session, { lastMs }] of [...this.owners]) {
      if (lastMs <= nowMs - sessionIdleMs) this.owners.delete(session);
    }
  }

  /** Has a session been routed since it was idle, whose last ownership is idle still? */
  ownsTooLongAgo(nowMs: number): boolean {
    const idle = nowMs - this.settings.sessionIdleMs;
    return [...this.owners].some(
      ([{ name, lastMs }, own]) => name !== undefined && own.lastMs <= idle && lastMs > idle,
    );
  }

  end(request: Request): void {
    this.requests.delete(request.id);
    this.#tell(request);
  }

  refusals({ refusals }: Session, life: Life): number {
    const known = refusals.get(life);
    return known && this.nowMs - known.lastMs < this.settings.rejectTtlMs ? known.count : 0;
  }

  #own(session: Session, hashes: BigUint64Array): void {
    if (hashes.length === 0) return;
    const { blocks } = this.owners.get(session) ?? { blocks: new Set<bigint>() };
    for (const hash of hashes) blocks.add(hash);
    this.owners.delete(session);
    this.owners.set(session, { blocks, lastMs: this.nowMs });
    const [oldest] = this.owners.keys();
    if (this.owners.size > this.settings.maxSessions) this.owners.delete(oldest!);
  }

  #record(blocks: Set<bigint>, { life, hashes }: Request): void {
    if (life!.residency !== 'exact') for (const hash of hashes) blocks.add(hash);
  }

  #tell(request: Request): void {
    this.told += request.waiting;
    request.waiting = 0;
  }

  #giveUp(request: Request): void {
    this.counters.givenUp += 1;
    this.end(request);
  }

  #ignore(problem: 'unknown' | 'repeated' | 'outOfOrder'): false {
    this.ignoredHooks[problem] += 1;
    return false;
  }
}
