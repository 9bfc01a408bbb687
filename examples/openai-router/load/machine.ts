import { cpus } from 'node:os';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

export interface MachineTold {
  readonly cpu: string;
  readonly cores: number;
  /** Share of the time in which they were busy, with whatever. */
  readonly busy: number;
  /** 99th percentile of how late this process came to its timers. */
  readonly lateMs: number;
  readonly isSaturated: boolean;
}

const RESOLUTION_MS = 5;
/** Beyond these, latencies tell more of waiting for a core than of who is measured. */
const MOST_BUSY = 0.9;
const MOST_LATE_MS = 10;

/** Whether the machine had time for what was measured on it. */
export class MachineWatch {
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #before = cpuTimes();

  constructor() {
    this.#delay.enable();
  }

  end(): MachineTold {
    this.#delay.disable();
    const { idle, all } = cpuTimes();
    const busy = 1 - (idle - this.#before.idle) / Math.max(1, all - this.#before.all);
    const lateMs = Math.max(0, this.#delay.percentile(99) / 1e6 - RESOLUTION_MS);
    const isSaturated = busy > MOST_BUSY || lateMs > MOST_LATE_MS;
    return { cpu: cpus()[0]?.model ?? 'unknown CPU', cores: cpus().length, busy, lateMs, isSaturated };
  }
}

function cpuTimes(): { idle: number; all: number } {
  let [idle, all] = [0, 0];
  for (const { times } of cpus()) {
    idle += times.idle;
    all += times.user + times.nice + times.sys + times.irq + times.idle;
  }
  return { idle, all };
}
