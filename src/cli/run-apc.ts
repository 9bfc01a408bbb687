import { analyzeApc } from '../analysis/apc.js';
import { TraceReader } from '../trace/trace-reader.js';
import type { ApcFlags } from './apc.js';
import { conventionText } from './apc-text.js';
import { writeThenPrint } from './out-file.js';
import { readingProgress } from './progress.js';
import { note, noteSkippedRows, throwWithHint } from './trace-notes.js';

export async function runApc(trace: string, flags: ApcFlags): Promise<void> {
  const progress = await readingProgress(`reading ${trace}`);
  const { onProgress } = progress;
  const reader = new TraceReader(trace, { onError: flags.onError, reuseIds: true, onProgress });
  const analysis = await analyzeApc(reader, { ...flags, trace })
    .catch(throwWithHint)
    .finally(() => progress.stop());
  const json = `${JSON.stringify(analysis.result, null, 2)}\n`;

  noteSkippedRows(reader);
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
