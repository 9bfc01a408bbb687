import { LRUCache } from 'lru-cache';
import type { WorkerRecord } from './worker-table.js';

interface Refusals {
  count: number;
  lastMs: number;
}

/** What is remembered of a conversation. An anonymous one is in no table: it ends with its only request. */
export class SessionRecord {
  /** Its name in the index. */
  readonly name: string;
  readonly named: boolean;
  /** Ended: hooks of its last requests leave nothing behind. */
  ended = false;
  lastMs: number;
  /** A request of it was dispatched. */
  served = false;
  movedMs: number | undefined;
  #home: WorkerRecord | undefined;
  #refusals: Map<WorkerRecord, Refusals> | undefined;

  constructor(name: string, named: boolean, nowMs: number) {
    this.name = name;
    this.named = named;
    this.lastMs = nowMs;
  }

  /** The worker that last served the session, unless that one failed or left since. */
  get home(): WorkerRecord | undefined {
    if (this.#home?.status === 'down') this.#home = undefined;
    return this.#home;
  }

  set home(worker: WorkerRecord | undefined) {
    this.#home = this.ended ? undefined : worker;
  }

  /** Refusals here, none of which is followed by `ttlMs` without another. */
  refusals(worker: WorkerRecord, nowMs: number, ttlMs: number): number {
    const refusals = this.#refusals?.get(worker);
    return refusals && nowMs - refusals.lastMs < ttlMs ? refusals.count : 0;
  }

  refused(worker: WorkerRecord, nowMs: number, ttlMs: number): void {
    if (this.ended) return;
    const count = this.refusals(worker, nowMs, ttlMs) + 1;
    this.#refusals ??= new Map();
    for (const [other, { lastMs }] of this.#refusals) {
      if (other.gone || nowMs - lastMs >= ttlMs) this.#refusals.delete(other);
    }
    this.#refusals.set(worker, { count, lastMs: nowMs });
  }

  succeeded(worker: WorkerRecord): void {
    this.#refusals?.delete(worker);
  }

  end(): void {
    this.ended = true;
    this.#home = undefined;
    this.#refusals = undefined;
  }
}

/** Named sessions, the least recently routed one first to go. */
export class SessionTable {
  readonly #sessions: LRUCache<string, SessionRecord>;

  /** `onEnd` is told of each session that ends, whyever. */
  constructor(maxSessions: number, onEnd: (session: SessionRecord) => void) {
    this.#sessions = new LRUCache({
      max: maxSessions,
      dispose: (session) => {
        session.end();
        onEnd(session);
      },
    });
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** The session is the most recent one. */
  touch(session: SessionRecord, nowMs: number): void {
    session.lastMs = nowMs;
    if (this.#sessions.get(session.name) === undefined) this.#sessions.set(session.name, session);
  }

  /** The session, if there is one, its age unchanged. */
  peek(name: string): SessionRecord | undefined {
    return this.#sessions.peek(name);
  }

  end(name: string): void {
    this.#sessions.delete(name);
  }

  /** Ends those that were last routed at `beforeMs` or earlier. */
  endIdle(beforeMs: number): void {
    const idle: SessionRecord[] = [];
    for (const session of this.#sessions.rvalues()) {
      if (session!.lastMs > beforeMs) break;
      idle.push(session!);
    }
    for (const { name } of idle) this.#sessions.delete(name);
  }
}
