import { KvidxError } from '../../errors.js';
import type { Places } from '../residency.js';
import type { Residency, RouterWorkerStats, SketchNote, WorkerStatus } from '../types.js';
import type { RequestRecord } from './request-table.js';
import { WorkScale } from './work-scale.js';

/** What is known of what workers hold. */
interface KnownResidency {
  noteOf(worker: WorkerRecord): SketchNote | undefined;
  residentBlocks(workers: readonly WorkerRecord[]): readonly number[] | undefined;
}

/** Workers that a message names. */
const NAMED = 5;

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
    expected: undefined,
    sketch: undefined,
    options: { capacity: undefined, ttlMs: undefined },
  };

  /** Requests that were routed here and not dispatched, their new tokens, and all tokens of their prompts. */
  routed = 0;
  routedNewTokens = 0;
  routedTokens = 0;
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

  /** ERR_KVIDX_NO_WORKERS where none takes requests. */
  checkUp(): void {
    if (this.#up.length > 0) return;
    const known = Array.from(this.#byName.values(), ({ name, status }) => `"${name}" is ${status}`);
    const problem =
      known.length === 0
        ? 'the router has no workers: call addWorker'
        : `no worker takes requests: ${firstOf(known)}`;
    throw new KvidxError('ERR_KVIDX_NO_WORKERS', problem);
  }

  find(name: string): WorkerRecord | undefined {
    return this.#byName.get(name);
  }

  /** ERR_KVIDX_UNKNOWN_WORKER where there is none. */
  get(name: string): WorkerRecord {
    const worker = this.#byName.get(name);
    if (worker) return worker;
    const known = Array.from(this.#byName.keys(), (each) => JSON.stringify(each));
    throw new KvidxError(
      'ERR_KVIDX_UNKNOWN_WORKER',
      `no worker is named ${JSON.stringify(name)}; ${known.length > 0 ? `there are ${firstOf(known)}` : 'call addWorker'}`,
    );
  }

  /** The record that `join` would put up: the present one, or a new life of one that is down or unknown. */
  lifeOf(name: string, residency: Residency): WorkerRecord {
    const present = this.#byName.get(name);
    if (present && present.status !== 'down') return present;
    const worker = new WorkerRecord(name, present?.residency ?? residency);
    if (present) {
      worker.poolTokens = present.poolTokens;
      worker.places.options = present.places.options;
    }
    return worker;
  }

  /**
   * The worker is up from now on; answers the former life that it takes the place of. One that joins, or takes requests
   * again, has at least the smallest `assigned` and `work` of those that are up (of all, if none is): with less it would get
   * every new session until it has caught up.
   */
  join(worker: WorkerRecord): WorkerRecord | undefined {
    const before = this.#byName.get(worker.name);
    if (before === worker && worker.status === 'up') return undefined;
    const others =
      this.#up.length > 0 ? this.#up : [...this.#byName.values()].filter((each) => each !== worker);
    if (others.length > 0) {
      worker.assigned = Math.max(worker.assigned, Math.min(...others.map(({ assigned }) => assigned)));
      worker.work = Math.max(worker.work, Math.min(...others.map(({ work }) => work)));
    }
    worker.status = 'up';
    this.#byName.set(worker.name, worker);
    this.#changed();
    if (before === undefined || before === worker) return undefined;
    before.gone = true;
    return before;
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

  /** The request is to go to its worker. */
  addRouted({ worker, newTokens, inputLength }: RequestRecord): void {
    worker!.routed += 1;
    worker!.routedNewTokens += newTokens;
    worker!.routedTokens += inputLength;
  }

  removeRouted({ worker, newTokens, inputLength }: RequestRecord): void {
    worker!.routed -= 1;
    worker!.routedNewTokens -= newTokens;
    worker!.routedTokens -= inputLength;
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

  stats(nowMs: number, residency: KnownResidency): RouterWorkerStats[] {
    const unit = this.workUnit(nowMs);
    const workers = [...this.#byName.values()];
    const residentBlocks = residency.residentBlocks(workers);
    return workers.map((worker, i) => {
      const sketch = residency.noteOf(worker);
      return {
        worker: worker.name,
        status: worker.status,
        residency: worker.residency,
        routed: worker.routed,
        inflight: worker.inflight,
        assigned: worker.assigned,
        work: worker.work * unit,
        pendingPrefillTokens: worker.pendingPrefillTokens,
        numRequests: worker.inflight,
        ongoingDecodeTokens: worker.ongoingDecodeTokens,
        runningTokens: worker.runningTokens,
        residentBlocks: residentBlocks?.[i],
        ...(sketch && { sketch }),
      };
    });
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

/** Some of a list, for a message. */
function firstOf(parts: readonly string[]): string {
  return parts.slice(0, NAMED).join(', ') + (parts.length > NAMED ? ', …' : '');
}
