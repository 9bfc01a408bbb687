/// <reference lib="esnext.disposable" preserve="true" />

import { invalidArgType, KvidxError, outOfRange } from '../errors.js';
import type { KvIndex } from '../kv-index/index.js';
import { BloomFilter } from '../sketch/bloom-filter.js';
import { badFrame, decodeFrame } from '../sketch/frame.js';
import { checkName, checkTime } from '../validate.js';
import { Chooser, type Question } from './chooser.js';
import { explainRoute } from './explain.js';
import { HashBuffers } from './hash-buffers.js';
import {
  checkAdmitted,
  checkResidentTokens,
  checkRouterOptions,
  checkRouterWorkerOptions,
  checkWithout,
  checkWorker,
  type RouterSettings,
} from './options.js';
import type { Policy } from './policy/policy.js';
import { ResidencyView } from './residency.js';
import { type CheckedRequest, RequestReader } from './route-request.js';
import { RequestRecord } from './state/request-table.js';
import { callWaiter, checkSession, RouterState } from './state/router-state.js';
import type { SessionRecord } from './state/session-table.js';
import type { WorkerRecord } from './state/worker-table.js';
import type {
  Decision,
  DispatchedOptions,
  RerouteOptions,
  RouteExplanation,
  RouteRequest,
  RouterOptions,
  RouterStats,
  RouterWorkerOptions,
  SessionSketchTold,
  WorkerStatus,
} from './types.js';

/**
 * Which worker gets a request: an index of what the workers hold, a policy, and the load that its hooks tell.
 *
 * `route` decides and remembers the request; tell what becomes of it by the hooks, each of which counts once a request and
 * answers whether it did (a repeated, late or unknown one changes nothing and is counted in `stats().ignoredHooks`):
 * `onDispatch` (sent), `onFirstToken`, then `onFinish` or `onError`; `onReject` when the worker refuses it, and `reroute`.
 * A session owns the blocks of its dispatched prompts. Bounded by `maxSessions`, `maxRequests`, `maxBlocks` and the
 * workers' capacities; call `expire` from a timer.
 *
 * Cost of `route`: hashing, one or two queries of the index, and some 100 ns a worker at most; in steady state it allocates
 * nothing that grows with the prompt (`kvidx bench routing`). Errors: ERR_KVIDX_INVALID_ARG_TYPE, ERR_KVIDX_OUT_OF_RANGE for
 * wrong arguments, ERR_KVIDX_NO_WORKERS, ERR_KVIDX_UNKNOWN_WORKER, ERR_KVIDX_CLOSED; a call that throws changed nothing.
 */
export class Router {
  readonly #settings: RouterSettings;
  readonly #residency: ResidencyView;
  readonly #state: RouterState;
  readonly #reader: RequestReader;
  readonly #chooser: Chooser;
  readonly #buffers = new HashBuffers();
  #nowMs = 0;

  constructor(options?: RouterOptions) {
    const settings = checkRouterOptions(options);
    this.#settings = settings;
    this.#reader = new RequestReader(settings);
    this.#residency = new ResidencyView(settings.index, settings.recordAt === 'route', settings.sketches);
    const events = {
      sessionEnded: ({ name }: SessionRecord) => void this.index.endSession(name),
      requestEnded: (request: RequestRecord) => {
        this.#unexpect(request);
        this.#buffers.give(request.hashes);
      },
    };
    this.#state = new RouterState(settings.state, events, this.#now());
    this.#chooser = new Chooser(settings, this.#residency, this.#state);
  }

  /**
   * Residency and ownership. Exact residency is fed here, to `index.addWorker(name)` (any rank and tier) of a worker of
   * the router: of several slots of one name the largest overlap counts.
   */
  get index(): KvIndex {
    return this.#residency.index;
  }

  get policy(): Policy {
    return this.#settings.policy;
  }

  /** Tokens a block. */
  get blockSize(): number {
    return this.#settings.index.blockSize;
  }

  // ---------------------------------------------------------------------------------------------------- workers

  /**
   * A worker joins, or takes requests again after `drainWorker` or `failWorker`. A present one takes the options that are
   * given, one that comes back has those that it had. It starts at the others' smallest `assigned` and `work`.
   */
  addWorker(name: string, options?: RouterWorkerOptions): void {
    const { residency, poolTokens, ...estimate } = checkRouterWorkerOptions(options, this.#settings.sketches);
    checkWorker(name);
    this.#checkOpen();
    const { workers } = this.#state;
    const before = workers.find(name);
    if (before && residency !== undefined && residency !== before.residency) {
      throw outOfRange(
        'residency',
        `${before.residency}, as "${name}" has it (removeWorker before)`,
        residency,
      );
    }
    const worker = workers.lifeOf(name, residency ?? this.#settings.residency);
    this.#residency.join(worker, estimate);
    if (poolTokens !== undefined) worker.poolTokens = poolTokens;
    const former = workers.join(worker);
    if (!former) return;
    this.#residency.forget(former, false);
    this.#residency.lost(worker); // a restore may have brought it back
  }

  /** The worker gets no request any more; those under way end as they would. ERR_KVIDX_UNKNOWN_WORKER. */
  drainWorker(name: string): void {
    const worker = this.#state.workers.get(checkWorker(name));
    if (worker.status === 'up') this.#state.workers.setStatus(worker, 'draining');
  }

  /**
   * The worker failed: its estimate is cleared (what others store or publish under its name is theirs to clear), who lived there lives
   * nowhere, and it gets no request until `addWorker`. Answers the ids of the requests that were under way there: they ended
   * as errors; routed ones wait for `reroute`. ERR_KVIDX_UNKNOWN_WORKER.
   */
  failWorker(name: string): string[] {
    const worker = this.#state.workers.get(checkWorker(name));
    this.#residency.lost(worker);
    this.#state.workers.setStatus(worker, 'down');
    const lost = this.#state.abandon(worker);
    this.#state.tell();
    return lost;
  }

  /** The worker leaves, with all that `index` holds under its name. Answers and throws as `failWorker`. */
  removeWorker(name: string): string[] {
    const worker = this.#state.workers.get(checkWorker(name));
    this.#residency.forget(worker, true);
    this.#state.workers.leave(worker);
    const lost = this.#state.abandon(worker);
    this.#state.tell();
    return lost;
  }

  /** In the order of joining. */
  workers(): { readonly name: string; readonly status: WorkerStatus }[] {
    return Array.from(this.#state.workers.all(), ({ name, status }) => ({ name, status }));
  }

  // ---------------------------------------------------------------------------------------------------- decisions

  /**
   * Who gets this request. ERR_KVIDX_NO_WORKERS: none takes requests. ERR_KVIDX_OUT_OF_RANGE: also an `inputLength` below
   * the hashed tokens, or the id of a request that is under way.
   */
  route(request: RouteRequest): Decision {
    const checked = this.#reader.read(request);
    const state = this.#state;
    const hashes = this.#buffers.take(checked.blocks);
    let record: RequestRecord;
    try {
      checked.writeHashes(hashes.hashes); // reads what may be getters: nothing was looked at before
      this.#mayRoute(checked);
      const nowMs = this.#now();
      const session = state.sessionOf(checked.session, nowMs);
      const id = checked.requestId ?? state.requests.newName();
      record = new RequestRecord(id, session, hashes, checked.inputLength, nowMs);
      this.#place(record, state.workers.up, nowMs);
    } catch (error) {
      this.#buffers.give(hashes);
      throw error;
    }
    state.routed(record);
    const decision = this.#decision(record);
    state.tell();
    return decision;
  }

  /**
   * The same request again, without the workers that refused it and those named; undefined: there is no other. It has no
   * worker when the call throws. ERR_KVIDX_OUT_OF_RANGE: it is not under way, or was dispatched.
   */
  reroute(requestId: string, options?: RerouteOptions): Decision | undefined {
    const without = checkWithout(options);
    this.#checkOpen();
    const nowMs = this.#now();
    const request = this.#state.waiting(requestId, nowMs);
    this.#state.workers.checkUp();
    const left = this.#state.workers.up.filter(
      (worker) => !request.refusedBy.includes(worker) && !without.has(worker.name),
    );
    if (left.length === 0) return undefined;
    this.#place(request, left, nowMs);
    return this.#decision(request);
  }

  /**
   * Puts a routed request on this worker, past the policy. ERR_KVIDX_NO_WORKERS: it takes no requests.
   * ERR_KVIDX_UNKNOWN_WORKER; ERR_KVIDX_OUT_OF_RANGE as `reroute`.
   */
  assign(requestId: string, name: string): Decision {
    this.#checkOpen();
    const nowMs = this.#now();
    const worker = this.#state.workers.get(checkWorker(name));
    const request = this.#state.waiting(requestId, nowMs);
    if (worker.status !== 'up') {
      throw new KvidxError('ERR_KVIDX_NO_WORKERS', `"${name}" is ${worker.status} and takes no requests`);
    }
    this.#withdraw(request);
    this.#chooser.consider(questionOf(request, [worker], nowMs));
    request.migrated = false;
    this.#settle(request, worker, 0, nowMs);
    return this.#decision(request);
  }

  /** What `route` would answer for this request now, and why; changes nothing. Errors as `route`. */
  explain(request: RouteRequest): RouteExplanation {
    const checked = this.#reader.read(request);
    const { workers } = this.#state;
    const hashes = new BigUint64Array(checked.blocks);
    checked.writeHashes(hashes);
    this.#mayRoute(checked);
    const nowMs = this.#now();
    const session = this.#state.sessionOf(checked.session, nowMs);
    const question = { session, workers: workers.up, hashes, inputLength: checked.inputLength, nowMs };
    this.#chooser.consider(question);
    return explainRoute({
      policy: this.policy,
      candidates: this.#chooser.candidates,
      workers: workers.up,
      others: [...workers.all()].filter(({ status }) => status !== 'up'),
      noteOf: (worker) => this.#residency.noteOf(worker),
      moveTo: (place) => this.#chooser.moveFrom(place, question),
    });
  }

  // -------------------------------------------------------------------------------------------------------- hooks

  /** The request was sent to its worker, or taken by it (`admitted`): its load, home and ownership count from now on. */
  onDispatch(requestId: string, options?: DispatchedOptions): boolean {
    const admitted = checkAdmitted(options);
    this.#checkOpen();
    const nowMs = this.#now();
    const request = this.#state.dispatched(requestId, admitted, nowMs);
    if (!request) return false;
    const { session, hashes } = request;
    if (!session.ended) this.index.own(session.name, hashes.hashes, { nowMs });
    const cached = hashes.hashes.subarray(0, request.overlapBlocks);
    this.#residency.refresh(request.worker!, cached, nowMs);
    return true;
  }

  /** Its prefill is over. */
  onFirstToken(requestId: string): boolean {
    const nowMs = this.#now();
    const request = this.#state.firstToken(requestId, nowMs);
    if (request?.expectation && !this.index.closed) {
      this.#residency.record(request.worker!, request.hashes.hashes, nowMs);
      this.#unexpect(request);
    }
    this.#state.tell();
    return request !== undefined;
  }

  /** It ended well: the worker holds its prompt. */
  onFinish(requestId: string): boolean {
    this.#checkOpen();
    const nowMs = this.#now();
    const counts = this.#state.finished(requestId, nowMs, ({ worker, hashes }) => {
      this.#residency.record(worker!, hashes.hashes, nowMs);
    });
    this.#state.tell();
    return counts;
  }

  /** It ended otherwise, at any time: failed, timed out, given up by the client. */
  onError(requestId: string): boolean {
    const counts = this.#state.failed(requestId, this.#now());
    this.#state.tell();
    return counts;
  }

  /**
   * Its worker refused it, before or after `onDispatch`: a refusal of this session there, and its load is taken back. The
   * request waits for `reroute`, `assign` or `onError`.
   */
  onReject(requestId: string): boolean {
    const request = this.#state.rejected(requestId, this.#now());
    if (request) this.#unexpect(request);
    this.#state.tell();
    return request !== undefined;
  }

  /**
   * The worker that is offered this request tells what it holds of the request's session: a frame of `sessionSketch`, from an
   * admission's answer. What of the worker's estimate this session alone owns, and the sketch does not have, leaves the
   * estimate, but for the prompt's leading `residentTokens`, which it holds afterwards. Those matter: blocks that the session
   * shares are in no session's sketch, and who shares them the worker knows otherwise than this router, from sessions that
   * ended here, or are of another router. ERR_KVIDX_BAD_FRAME: a damaged frame, or of another session, worker or block size. ERR_KVIDX_OUT_OF_RANGE: the request is
   * not routed, or was dispatched.
   */
  onSessionSketch(requestId: string, frame: Uint8Array, options?: SessionSketchTold): void {
    const residentTokens = checkResidentTokens(options);
    this.#checkOpen();
    const sketch = decodeFrame(frame, { blockSize: this.blockSize });
    const nowMs = this.#now();
    const { worker, session, hashes } = this.#state.waiting(requestId, nowMs);
    if (!worker) throw outOfRange('requestId', 'that of a request that has a worker', requestId);
    if (sketch.worker !== worker.name || sketch.session !== session.name) {
      const { worker: other, session: told = 'none' } = sketch;
      throw badFrame(
        `its session is ${told} and its worker ${other}, not ${session.name} and ${worker.name}`,
      );
    }
    if (sketch.kind === 'delta') throw badFrame('it is a delta, and only full frames stand alone');
    const filter = sketch.kind === 'full' ? sketch.filter : new BloomFilter(1);
    const resident = hashes.hashes.subarray(0, Math.floor(residentTokens / this.blockSize));
    this.#residency.correct(worker, { session: session.name, filter, resident, nowMs });
  }

  /**
   * Calls `callback` once, when the request's prefill is over or will not be: at its first token, its end of any kind, or a
   * refusal. At once when there is no such request. It may call the router; what it throws becomes a warning of the process.
   */
  whenPrefilled(requestId: string, callback: () => void): void {
    if (typeof callback !== 'function') throw invalidArgType('callback', 'a function', callback);
    const request = this.#state.requests.get(checkName('requestId', requestId), this.#now());
    if (request && request.phase !== 'decode') request.whenPrefilled.push(callback);
    else callWaiter(callback);
  }

  // -------------------------------------------------------------------------------------------------- maintenance

  /**
   * The conversation is over: its home, refusals and ownership are forgotten, also by requests of it that are still under
   * way. Answers the blocks it owned.
   */
  endSession(session: string): number {
    const name = checkSession(checkName('session', session))!;
    const owned = this.index.endSession(name);
    this.#state.sessions.end(name);
    return owned;
  }

  /** Ends idle sessions, gives up idle requests, and drops estimates past their `ttlMs`. */
  expire(nowMs?: number): void {
    const time = nowMs === undefined ? this.#now() : checkTime('nowMs', nowMs);
    this.#checkOpen();
    this.#state.expire(time);
    this.index.endIdleSessions(time); // anonymous ones too; who was routed later keeps its home
    this.index.expire(time);
    this.#state.tell();
  }

  stats(): RouterStats {
    const { workers, sessions, requests, counters, ignoredHooks } = this.#state;
    return {
      workers: workers.stats(this.#now(), this.#residency),
      sessions: sessions.size,
      requests: requests.size,
      ...counters,
      ignoredHooks: { ...ignoredHooks },
    };
  }

  /** Frees the index, and follows no sketches any more. Afterwards every call that needs it throws ERR_KVIDX_CLOSED. */
  close(): void {
    this.#residency.close();
  }

  /** As `close`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  // ----------------------------------------------------------------------------------------------------------------

  /** A clock that goes back stands still here. */
  #now(): number {
    this.#nowMs = Math.max(this.#nowMs, checkTime('now()', this.#settings.now()));
    return this.#nowMs;
  }

  /** A request that is read; what its getters did to the router is done. */
  #mayRoute({ requestId }: CheckedRequest): void {
    this.#checkOpen();
    if (requestId !== undefined && this.#state.requests.has(requestId)) {
      throw outOfRange('requestId', 'new: a request of that id is under way', requestId);
    }
    this.#state.workers.checkUp();
  }

  #checkOpen(): void {
    void this.index.slotCount; // throws ERR_KVIDX_CLOSED
  }

  /** Decides among these workers, and writes the decision down. */
  #place(request: RequestRecord, workers: readonly WorkerRecord[], nowMs: number): void {
    this.#withdraw(request);
    const { place, migrated } = this.#chooser.choose(questionOf(request, workers, nowMs));
    request.migrated = migrated;
    this.#settle(request, workers[place]!, place, nowMs);
  }

  #settle(request: RequestRecord, worker: WorkerRecord, place: number, nowMs: number): void {
    const { overlapBlocks, cacheHitTokens } = this.#chooser.candidates;
    this.#state.place(request, worker, overlapBlocks[place]!, cacheHitTokens[place]!);
    request.expectation = this.#residency.expect(worker, request.hashes.hashes, nowMs);
  }

  /** A request that is decided anew must not find itself on a worker. */
  #withdraw(request: RequestRecord): void {
    this.#unexpect(request);
    this.#state.place(request, undefined);
  }

  /** Its prompt is there, or will not be. */
  #unexpect(request: RequestRecord): void {
    const { expectation, hashes } = request;
    request.expectation = undefined;
    if (expectation) this.#residency.unexpect(expectation, hashes.hashes);
  }

  #decision(request: RequestRecord): Decision {
    const { id, worker, overlapBlocks, cachedTokens, newTokens, migrated, session } = request;
    return {
      requestId: id,
      worker: worker!.name,
      overlapBlocks,
      cachedTokens,
      newTokens,
      firstTurn: !session.served,
      migrated,
    };
  }
}

function questionOf(request: RequestRecord, workers: readonly WorkerRecord[], nowMs: number): Question {
  const { session, hashes, inputLength } = request;
  return { session, workers, hashes: hashes.hashes, inputLength, nowMs };
}
