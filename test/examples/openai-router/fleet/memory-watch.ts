import { setTimeout as sleep } from 'node:timers/promises';
import type { Fleet } from '../../../../examples/openai-router/fleet/processes.js';

export interface MemorySample {
  /** Of the heap, and of buffers beside it. */
  readonly aliveBytes: number;
  readonly rssBytes: number;
  /** So far. */
  readonly requests: number;
}

/**
 * Node collects garbage when it likes: in a minute of load a heap may double without a leak. A program that is started with
 * these options collects it when it gets a SIGUSR2, so that what is counted then is alive.
 */
export const COLLECTS_GARBAGE = `--import=data:text/javascript,${encodeURIComponent(`
  import { setFlagsFromString } from 'node:v8';
  import { runInNewContext } from 'node:vm';
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc');
  process.on('SIGUSR2', () => gc());
`)}`;

/** For the signal to arrive before the question. */
const PAUSE_MS = 50;

/** Of a router that collects garbage when asked. */
export async function sampleMemory(fleet: Fleet): Promise<MemorySample> {
  process.kill(fleet.pid('router'), 'SIGUSR2');
  await sleep(PAUSE_MS);
  const text = await (await fetch(`${fleet.routerUrl}/metrics`)).text();
  const numberOf = (metric: string) => Number(new RegExp(`^${metric} (.*)$`, 'm').exec(text)?.[1]);
  return {
    aliveBytes: numberOf('nodejs_heap_size_used_bytes') + numberOf('nodejs_external_memory_bytes'),
    rssBytes: numberOf('process_resident_memory_bytes'),
    requests: numberOf('kvidx_router_decisions_total'),
  };
}

/** From the second third of the samples to the last one, in their medians. */
export function growth(samples: readonly MemorySample[]): MemorySample {
  const third = Math.floor(samples.length / 3);
  const [second, last] = [samples.slice(third, -third), samples.slice(-third)];
  const of = (key: keyof MemorySample) =>
    median(last.map((each) => each[key])) - median(second.map((each) => each[key]));
  return { aliveBytes: of('aliveBytes'), rssBytes: of('rssBytes'), requests: of('requests') };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
