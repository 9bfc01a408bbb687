import { simulateSequential } from '../sim/sequential.js';
import { TraceReader } from '../trace/trace-reader.js';
import { conventionText } from './apc-text.js';
import { writeThenPrint } from './out-file.js';
import { readingProgress } from './progress.js';
import { rereadable } from './rereadable.js';
import type { SimFlags } from './sim.js';
import { note, noteSkippedRows, throwWithHint } from './trace-notes.js';

const PASSES = 2;

export async function runSim(trace: string, flags: SimFlags): Promise<void> {
  const progress = await readingProgress(`simulating ${trace}`, PASSES);
  const reader = new TraceReader(trace, { onError: flags.onError, onProgress: progress.onProgress });
  const { workers, policies, blockSize } = flags;
  const options = { trace, workers, policies, ...(blockSize === undefined ? {} : { blockSize }) };
  const simulation = await simulateSequential(rereadable(reader), options)
    .catch(throwWithHint)
    .finally(() => progress.stop());
  const { result, bound } = simulation;
  const json = `${JSON.stringify(result, null, 2)}\n`;

  noteSkippedRows(reader);
  if (flags.json) {
    note(`block size ${result.block_size}: ${conventionText(bound)}`);
    if (bound.result.n_sessions === null)
      note('the trace names no sessions: every request is one of its own');
  }
  writeThenPrint(flags.out, json, flags.json ? json : await tables());

  async function tables(): Promise<string> {
    const { simTables } = await import('./sim-tables.js');
    return simTables(simulation, `${reader.format} JSON lines`);
  }
}
