import { analyzeApc } from '../analysis/apc.js';
import { counted } from '../text.js';
import { BadRow } from '../trace/row-parser.js';
import { TraceReader } from '../trace/trace-reader.js';
import type { ApcFlags } from './apc.js';
import { conventionText } from './apc-text.js';
import { CliError } from './cli-error.js';
import { writeThenPrint } from './out-file.js';
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
    const were = reader.skipped === 1 ? 'was' : 'were';
    note(`${counted(reader.skipped, 'bad row')} ${were} left out; the first: ${reader.firstSkipped.message}`);
  }
  if (flags.json) {
    note(`block size ${analysis.result.block_size}: ${conventionText(analysis)}`);
    if (analysis.result.n_sessions === null)
      note('the trace names no sessions: intra and shared figures are null');
  }
  writeThenPrint(flags.out, json, flags.json ? json : await tables());

  async function tables(): Promise<string> {
    const { apcTables } = await import('./apc-tables.js');
    return apcTables(analysis, `${reader.format} JSON lines`, flags.kvBytesPerToken);
  }
}

function note(text: string): void {
  process.stderr.write(`kvidx: ${text}\n`);
}
