import type { HashBuffer } from '../hash-buffers.js';
import type { Expectation } from '../residency.js';
import type { SessionRecord } from './session-table.js';
import type { WorkerRecord } from './worker-table.js';

/**
 * A request between `route` and its end.
 *
 *   routed ──onDispatch──▶ prefill ──onFirstToken──▶ decode ──onFinish──▶ (gone)
 *     ▲  └─onReject: it has no worker until reroute or assign          onError, at any time ──▶ (gone)
 *     └──────onReject──────────┘
 */
export class RequestRecord {
  readonly id: string;
  readonly session: SessionRecord;
  /** Seq hashes of the prompt. */
  readonly hashes: HashBuffer;
  readonly inputLength: number;
  phase: 'routed' | 'prefill' | 'decode' = 'routed';
  /** Undefined: none now, it refused or went away. Set by the state alone, which keeps the worker's load in step. */
  worker: WorkerRecord | undefined;
  overlapBlocks = 0;
  cachedTokens = 0;
  newTokens = 0;
  migrated = false;
  /** Its prompt counts already. */
  expectation: Expectation | undefined;
  /** Workers that refused it, which are not tried again. */
  readonly refusedBy: WorkerRecord[] = [];
  dispatchedMs = 0;
  lastMs: number;
  /** Who waits for the end of its prefill. */
  whenPrefilled: (() => void)[] = [];

  constructor(id: string, session: SessionRecord, hashes: HashBuffer, inputLength: number, nowMs: number) {
    this.id = id;
    this.session = session;
    this.hashes = hashes;
    this.inputLength = inputLength;
    this.lastMs = nowMs;
  }
}

/** A new iterator for so many removals beyond the size of the table, that a small one does not get one for each. */
const SPARE_REMOVALS = 1024;

/** Requests under way, by id, the longest untouched first. */
export class RequestTable {
  readonly #requests = new Map<string, RequestRecord>();
  /**
   * Stands before the first entry. Asked only to take that out, so it never passes one that stays. A new one for each would
   * walk over all that was deleted before it; one that is kept for ever would keep all that the map ever held.
   */
  #first = this.#requests.values();
  /** Since `#first` is new. */
  #removals = 0;
  readonly #maxRequests: number;
  #nextName = 1;

  constructor(maxRequests: number) {
    this.#maxRequests = maxRequests;
  }

  get size(): number {
    return this.#requests.size;
  }

  has(id: string): boolean {
    return this.#requests.has(id);
  }

  /** A name that no request under way has. */
  newName(): string {
    let name: string;
    do name = `request-${this.#nextName++}`;
    while (this.#requests.has(name));
    return name;
  }

  /** Answers the request that it takes out, where there would be too many. */
  add(request: RequestRecord): RequestRecord | undefined {
    const idlest = this.#requests.size < this.#maxRequests ? undefined : this.#takeFirst();
    this.#requests.set(request.id, request);
    return idlest;
  }

  #takeFirst(): RequestRecord {
    let next = this.#first.next();
    if (next.done) {
      this.#first = this.#requests.values(); // one that has ended stays so
      next = this.#first.next();
    }
    const first = next.value!;
    this.#remove(first.id);
    return first;
  }

  #remove(id: string): void {
    this.#requests.delete(id);
    if (++this.#removals <= this.#requests.size + SPARE_REMOVALS) return;
    this.#first = this.#requests.values();
    this.#removals = 0;
  }

  /** The request, touched now. */
  get(id: string, nowMs: number): RequestRecord | undefined {
    const request = this.#requests.get(id);
    if (request === undefined) return undefined;
    request.lastMs = nowMs;
    this.#remove(id);
    this.#requests.set(id, request);
    return request;
  }

  delete(request: RequestRecord): void {
    this.#remove(request.id);
  }

  /** Requests of one worker. Cost: a walk over all. */
  on(worker: WorkerRecord): RequestRecord[] {
    return [...this.#requests.values()].filter((request) => request.worker === worker);
  }

  /** Requests last touched at `beforeMs` or earlier. */
  idle(beforeMs: number): RequestRecord[] {
    const idle: RequestRecord[] = [];
    for (const request of this.#requests.values()) {
      if (request.lastMs > beforeMs) break;
      idle.push(request);
    }
    return idle;
  }
}
