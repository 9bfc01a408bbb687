import { writeFile } from 'node:fs/promises';
import { analyzeApc } from '../analysis/apc.js';
import { BadRow } from '../trace/row-parser.js';
import { TraceReader } from '../trace/trace-reader.js';
import type { ApcFlags } from './apc.js';
import { conventionText } from './apc-text.js';
import { CliError } from './cli-error.js';
import { grouped } from './format.js';
import { readingProgress } from './progress.js';

const SKIP_HINT = '(--on-error skip leaves bad rows out and counts them)';

export async function runApc(trace: string, flags: ApcFlags): Promise<void> {
  const progress = await readingProgress(`reading ${trace}`);
  const reader = new TraceReader(trace, { onError: flags.onError, onProgress: progress.onProgress });
  const analysis = await analyzeApc(reader, { ...flags, trace })
    .catch((error) => {
      throw error.cause instanceof BadRow ? new CliError(`${error.message}\n${SKIP_HINT}`) : error;
    })
    .finally(() => progress.stop());
  const json = `${JSON.stringify(analysis.result, null, 2)}\n`;

  if (reader.firstSkipped !== undefined) {
    note(`${grouped(reader.skipped)} bad rows were left out; the first: ${reader.firstSkipped.message}`);
  }
  if (flags.json) {
    note(`block size ${analysis.result.block_size}: ${conventionText(analysis)}`);
    if (analysis.result.n_sessions === null)
      note('the trace names no sessions: intra and shared figures are null');
  }
  if (flags.out !== undefined) await write(flags.out, json);
  if (flags.json) {
    process.stdout.write(json);
  } else {
    const { apcTables } = await import('./apc-tables.js');
    process.stdout.write(apcTables(analysis, `${reader.format} JSON lines`, flags.kvBytesPerToken));
  }
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    throw new CliError(`cannot write ${file}: ${(error as Error).message}`);
  }
}

function note(text: string): void {
  process.stderr.write(`kvidx: ${text}\n`);
}
