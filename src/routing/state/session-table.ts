import { LRUCache } from 'lru-cache';
import type { RequestRecord } from './request-table.js';
import type { WorkerRecord } from './worker-table.js';

/** A dispatch, and where the session lives by it. */
interface Stay {
  readonly worker: WorkerRecord;
  readonly order: number;
  readonly movedMs: number | undefined;
}

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
  /** Of the latest dispatch that can no longer be refused. */
  #settled: Stay | undefined;
  /** Dispatches that may still be refused, by their requests' ids, in their order. */
  readonly #pending = new Map<string, Stay>();
  /** The last of those. */
  #lastPending: Stay | undefined;
  #refusals: Map<WorkerRecord, Refusals> | undefined;

  constructor(name: string, named: boolean, nowMs: number) {
    this.name = name;
    this.named = named;
    this.lastMs = nowMs;
  }

  /** The worker that last took a request of it, unless that one failed or left since. */
  get home(): WorkerRecord | undefined {
    const { worker } = this.#latest() ?? {};
    return worker?.status === 'down' ? undefined : worker;
  }

  /** When it was last moved from a hot home; undefined: never. */
  get movedMs(): number | undefined {
    return this.#latest()?.movedMs;
  }

  /** Was a request of it dispatched, and not refused? */
  get served(): boolean {
    return this.#latest() !== undefined;
  }

  /** A request of it was dispatched. `order` rises with every dispatch. */
  dispatched({ id, worker, migrated, dispatchedMs }: RequestRecord, order: number): void {
    if (this.ended) return;
    const movedMs = migrated ? dispatchedMs : this.movedMs;
    this.#lastPending = { worker: worker!, order, movedMs };
    this.#pending.set(id, this.#lastPending);
  }

  /** The request, whatever becomes of it, was not refused by its worker. */
  settled({ id }: RequestRecord): void {
    const stay = this.#take(id);
    if (stay && stay.order > (this.#settled?.order ?? 0)) this.#settled = stay;
  }

  #take(id: string): Stay | undefined {
    const stay = this.#pending.get(id);
    this.#pending.delete(id);
    if (stay && stay === this.#lastPending) this.#lastPending = this.#newestPending();
    return stay;
  }

  /** Cost: a walk, where the last of several dispatches ends first. */
  #newestPending(): Stay | undefined {
    let newest: Stay | undefined;
    for (const stay of this.#pending.values()) newest = stay;
    return newest;
  }

  #latest(): Stay | undefined {
    const pending = this.#lastPending;
    return pending && pending.order > (this.#settled?.order ?? 0) ? pending : this.#settled;
  }

  /** Refusals here, none of which is followed by `ttlMs` without another. */
  refusals(worker: WorkerRecord, nowMs: number, ttlMs: number): number {
    const refusals = this.#refusals?.get(worker);
    return refusals && nowMs - refusals.lastMs < ttlMs ? refusals.count : 0;
  }

  refused({ id }: RequestRecord, worker: WorkerRecord, nowMs: number, ttlMs: number): void {
    if (this.ended) return;
    this.#take(id);
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
    this.#settled = undefined;
    this.#pending.clear();
    this.#lastPending = undefined;
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
