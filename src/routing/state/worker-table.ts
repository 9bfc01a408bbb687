import { KvidxError } from '../../errors.js';
import type { Places } from '../residency.js';
import type { Residency, RouterWorkerStats, WorkerStatus } from '../types.js';
import type { RequestRecord } from './request-table.js';
import { WorkScale } from './work-scale.js';

/** One life of a worker: it ends by failing or leaving, and a worker that comes back is another record. */
export class WorkerRecord {
  readonly name: string;
  status: WorkerStatus = 'up';
  /** It left, or came back as another record. */
  gone = false;
  residency: Residency;
  poolTokens: number | undefined;
  /** Kept by the router's view of residency. */
  readonly places: Places = {
    slots: [],
    estimate: undefined,
    options: { capacity: undefined, ttlMs: undefined },
  };

  inflight = 0;
  assigned = 0;
  /** Tokens, weighted by the table's scale. */
  work = 0;
  pendingPrefillTokens = 0;
  ongoingDecodeTokens = 0;
  runningTokens = 0;

  constructor(name: string, residency: Residency) {
    this.name = name;
    this.residency = residency;
  }
}

/** The workers of a router in the order of joining, with their load. */
export class WorkerTable {
  readonly #byName = new Map<string, WorkerRecord>();
  readonly #scale: WorkScale;
  #up: readonly WorkerRecord[] = [];

  constructor(workHalfLifeMs: number, nowMs: number) {
    this.#scale = new WorkScale(workHalfLifeMs, nowMs);
  }

  /** In the order of joining. */
  all(): IterableIterator<WorkerRecord> {
    return this.#byName.values();
  }

  /** Those that take requests, in the order of joining. */
  get up(): readonly WorkerRecord[] {
    return this.#up;
  }

  find(name: string): WorkerRecord | undefined {
    return this.#byName.get(name);
  }

  /** ERR_KVIDX_UNKNOWN_WORKER where there is none. */
  get(name: string): WorkerRecord {
    const worker = this.#byName.get(name);
    if (worker) return worker;
    const known = [...this.#byName.keys()].slice(0, 5).map((each) => JSON.stringify(each));
    throw new KvidxError(
      'ERR_KVIDX_UNKNOWN_WORKER',
      `no worker is named ${JSON.stringify(name)}; ${known.length > 0 ? `there are ${known.join(', ')}${this.#byName.size > known.length ? ', …' : ''}` : 'call addWorker'}`,
    );
  }

  /**
   * The worker, up from now on. One that joins, or takes requests again, has at least the others' smallest `assigned`
   * and `work`: with less it would get every new session until it has caught up.
   */
  join(name: string, residency: Residency): WorkerRecord {
    const present = this.#byName.get(name);
    if (present?.status === 'up') return present;
    if (present?.status === 'down') present.gone = true;
    const worker = present?.status === 'draining' ? present : new WorkerRecord(name, residency);
    const others = this.#up;
    if (others.length > 0) {
      worker.assigned = Math.max(worker.assigned, Math.min(...others.map(({ assigned }) => assigned)));
      worker.work = Math.max(worker.work, Math.min(...others.map(({ work }) => work)));
    }
    worker.status = 'up';
    this.#byName.set(name, worker);
    this.#changed();
    return worker;
  }

  setStatus(worker: WorkerRecord, status: WorkerStatus): void {
    worker.status = status;
    this.#changed();
  }

  leave(worker: WorkerRecord): void {
    worker.status = 'down';
    worker.gone = true;
    this.#byName.delete(worker.name);
    this.#changed();
  }

  /** The request goes to its worker: load, and a decision more. */
  addLoad({ worker, newTokens, inputLength, dispatchedMs }: RequestRecord): void {
    this.#rescale(dispatchedMs);
    worker!.inflight += 1;
    worker!.assigned += 1;
    worker!.work += newTokens * this.#scale.weight(dispatchedMs);
    worker!.pendingPrefillTokens += newTokens;
    worker!.runningTokens += inputLength;
  }

  prefillOver({ worker, newTokens, inputLength }: RequestRecord): void {
    worker!.pendingPrefillTokens -= newTokens;
    worker!.ongoingDecodeTokens += inputLength;
  }

  /** Takes back what is left of the request's load. */
  removeLoad({ worker, phase, newTokens, inputLength }: RequestRecord): void {
    worker!.inflight -= 1;
    worker!.runningTokens -= inputLength;
    if (phase === 'prefill') worker!.pendingPrefillTokens -= newTokens;
    else worker!.ongoingDecodeTokens -= inputLength;
  }

  /** The worker refused what was sent: the work was not done. */
  takeBackWork({ worker, newTokens, dispatchedMs }: RequestRecord): void {
    worker!.work = Math.max(0, worker!.work - newTokens * this.#scale.weight(dispatchedMs));
  }

  /** What `work` of a record is to be multiplied with to be in tokens of now. */
  workUnit(nowMs: number): number {
    return 1 / this.#scale.weight(nowMs);
  }

  stats(nowMs: number): RouterWorkerStats[] {
    const unit = this.workUnit(nowMs);
    return [...this.#byName.values()].map((worker) => ({
      worker: worker.name,
      status: worker.status,
      residency: worker.residency,
      inflight: worker.inflight,
      assigned: worker.assigned,
      work: worker.work * unit,
      pendingPrefillTokens: worker.pendingPrefillTokens,
      numRequests: worker.inflight,
      ongoingDecodeTokens: worker.ongoingDecodeTokens,
      runningTokens: worker.runningTokens,
    }));
  }

  #rescale(nowMs: number): void {
    const factor = this.#scale.rescale(nowMs);
    if (factor === 1) return;
    for (const worker of this.#byName.values()) worker.work *= factor;
  }

  #changed(): void {
    this.#up = [...this.#byName.values()].filter(({ status }) => status === 'up');
  }
}
