import { KvidxError, outOfRange } from '../../../src/errors.js';
import type { AdmitAnswer, AdmitReason, AdmittedAnswer } from '../../../src/routing/admit.js';
import type { Clock } from '../../../src/routing/dispatch/clock.js';
import { Dispatcher } from '../../../src/routing/dispatch/dispatcher.js';
import type {
  AdmissionRequest,
  DispatcherOptions,
  DispatchRouter,
} from '../../../src/routing/dispatch/types.js';
import type {
  Decision,
  DispatchedOptions,
  RerouteOptions,
  RouteRequest,
  WorkerStatus,
} from '../../../src/routing/types.js';

const FIGURES = { residentTokens: 0, requiredTokens: 100, availableTokens: 1000 };

export const admitted = (as: AdmittedAnswer['as']): AdmitAnswer => ({ admitted: true, as, ...FIGURES });

export function refused(reason: AdmitReason = 'no-d-capacity', recommendedPauseMs?: number): AdmitAnswer {
  return { admitted: false, reason, ...FIGURES, recommendedPauseMs };
}

export const never = (): Promise<never> => new Promise(() => {});

/** Lets every promise go on that can. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Time that passes only when told to; between two timers all promises go on. */
export class VirtualClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>();

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    if (!(ms >= 0)) throw new Error(`a timer of ${ms} ms`);
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  get timers(): number {
    return this.#timers.size;
  }

  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settled();
    for (let next = this.#next(); next && next.at <= end; next = this.#next()) await this.#fire(next);
    this.#now = end;
  }

  /** Until no timer is left. */
  async drain(): Promise<void> {
    await settled();
    for (let next = this.#next(); next; next = this.#next()) await this.#fire(next);
  }

  /** The earliest; of equal ones the first that was set. */
  #next() {
    let next: { readonly at: number; readonly callback: () => void } | undefined;
    for (const timer of this.#timers) if (!next || timer.at < next.at) next = timer;
    return next;
  }

  async #fire(timer: { readonly at: number; readonly callback: () => void }): Promise<void> {
    this.#timers.delete(timer);
    this.#now = Math.max(this.#now, timer.at);
    timer.callback();
    await settled();
  }
}

interface FakeRequest {
  worker: string | undefined;
  readonly refusedBy: Set<string>;
  state: 'routed' | 'prefill' | 'decode';
  callbacks: (() => void)[];
}

/** Routes to the first worker, in order of joining, that is up and neither left out nor refused it. Writes every hook down. */
export class FakeRouter implements DispatchRouter {
  readonly statuses = new Map<string, WorkerStatus>();
  readonly requests = new Map<string, FakeRequest>();
  readonly log: string[] = [];
  #nextId = 1;

  constructor(...workers: string[]) {
    for (const worker of workers) this.statuses.set(worker, 'up');
  }

  workers() {
    return Array.from(this.statuses, ([name, status]) => ({ name, status }));
  }

  route({ requestId = `request-${this.#nextId++}` }: RouteRequest): Decision {
    if (this.requests.has(requestId)) throw outOfRange('requestId', 'new', requestId);
    const [first] = this.#up();
    if (first === undefined) throw new KvidxError('ERR_KVIDX_NO_WORKERS', 'none');
    this.requests.set(requestId, { worker: first, refusedBy: new Set(), state: 'routed', callbacks: [] });
    return decision(requestId, first);
  }

  reroute(requestId: string, { without = [] }: RerouteOptions = {}): Decision | undefined {
    const request = this.#waiting(requestId);
    const up = this.#up();
    if (up.length === 0) throw new KvidxError('ERR_KVIDX_NO_WORKERS', 'none');
    const out = new Set([...request.refusedBy, ...without]);
    const next = up.find((name) => !out.has(name));
    if (next === undefined) return undefined;
    request.worker = next;
    return decision(requestId, next);
  }

  assign(requestId: string, worker: string): Decision {
    this.#waiting(requestId).worker = worker;
    return decision(requestId, worker);
  }

  onDispatch(requestId: string, options: DispatchedOptions = {}): boolean {
    const request = this.requests.get(requestId);
    if (request?.worker === undefined || request.state !== 'routed') return false;
    request.state = 'prefill';
    this.log.push(`dispatch ${requestId} ${request.worker} ${options.admitted}`);
    return true;
  }

  onReject(requestId: string): boolean {
    const request = this.requests.get(requestId);
    if (request?.worker === undefined) return false;
    this.log.push(`reject ${requestId} ${request.worker}`);
    request.refusedBy.add(request.worker);
    request.worker = undefined;
    request.state = 'routed';
    tell(request);
    return true;
  }

  onError(requestId: string): boolean {
    return this.#end(requestId, 'error');
  }

  onFinish(requestId: string): boolean {
    return this.#end(requestId, 'finish');
  }

  onFirstToken(requestId: string): boolean {
    const request = this.requests.get(requestId);
    if (request?.state !== 'prefill') return false;
    request.state = 'decode';
    tell(request);
    return true;
  }

  whenPrefilled(requestId: string, callback: () => void): void {
    const request = this.requests.get(requestId);
    if (request && request.state !== 'decode') request.callbacks.push(callback);
    else callback();
  }

  /** As `failWorker`; `removed`: as `removeWorker`. */
  lose(worker: string, removed = false): void {
    if (removed) this.statuses.delete(worker);
    else this.statuses.set(worker, 'down');
    for (const [id, request] of this.requests) {
      if (request.worker !== worker) continue;
      if (request.state === 'routed') request.worker = undefined;
      else this.onError(id);
    }
  }

  #up(): string[] {
    return [...this.statuses.keys()].filter((name) => this.statuses.get(name) === 'up');
  }

  #waiting(requestId: string): FakeRequest {
    const request = this.requests.get(requestId);
    if (request?.state === 'routed') return request;
    throw outOfRange('requestId', 'that of a routed request', requestId);
  }

  #end(requestId: string, how: string): boolean {
    const request = this.requests.get(requestId);
    if (request === undefined) return false;
    this.log.push(`${how} ${requestId}`);
    this.requests.delete(requestId);
    tell(request);
    return true;
  }
}

function tell(request: FakeRequest): void {
  const { callbacks } = request;
  request.callbacks = [];
  for (const callback of callbacks) callback();
}

function decision(requestId: string, worker: string): Decision {
  const figures = { overlapBlocks: 2, cachedTokens: 48, newTokens: 52 };
  return { requestId, worker, ...figures, firstTurn: true, migrated: false };
}

export type Answers = Record<string, (request: AdmissionRequest, call: number) => unknown>;

export interface Setup {
  readonly clock: VirtualClock;
  readonly router: FakeRouter;
  readonly dispatcher: Dispatcher;
  /** `worker requestId`, in order. */
  readonly asked: string[];
  readonly released: string[];
}

/** A dispatcher over a fake router whose workers answer so. */
export function setUp(answers: Answers, options: Partial<DispatcherOptions> = {}): Setup {
  const clock = new VirtualClock();
  const router = new FakeRouter(...Object.keys(answers));
  const asked: string[] = [];
  const released: string[] = [];
  const dispatcher = new Dispatcher(router, {
    admit: (worker, request) => {
      const calls = asked.push(`${worker} ${request.requestId}`);
      return answers[worker]!(request, calls) as AdmitAnswer;
    },
    release: (worker, requestId) => void released.push(`${worker} ${requestId}`),
    backoff: { jitter: 0 },
    seed: 1,
    clock,
    ...options,
  });
  return { clock, router, dispatcher, asked, released };
}

/** Runs the clock dry, and answers what became of the promise. */
export async function outcome<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  const result = promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  await clock.drain();
  const ended = await Promise.race([result, settled()]);
  if (!ended) throw new Error('still waiting when no timer is left');
  if ('error' in ended) throw ended.error;
  return ended.value;
}

/** The `code` of what the promise rejects with. */
export async function codeOfRejection(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  return String(error?.code);
}
