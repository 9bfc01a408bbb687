import { KvIndex, type WorkerHandle } from '../src/kv-index/index.js';
import type { Requests } from './requests.js';

/** Workers that serve requests in turns and never evict. */
export class RoundRobin {
  readonly index = new KvIndex();
  readonly workers: readonly WorkerHandle[];
  #served = 0;

  constructor({ slots }: Requests) {
    this.workers = Array.from({ length: slots }, (_, i) => this.index.addWorker(`w${i}`));
  }

  /** Stores a request's blocks on the next worker, and answers its place. */
  serve(seq: BigUint64Array): number {
    const place = this.#served++ % this.workers.length;
    this.index.store(this.workers[place]!, seq, { nowMs: 0 });
    return place;
  }
}
