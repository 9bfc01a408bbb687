import { statSync } from 'node:fs';
import type { TraceReader } from '../trace/trace-reader.js';
import type { TraceRow } from '../trace/types.js';

/** Opens the rows of a trace as often as asked. Of what can be read only once, a pipe, the first reading keeps the rows. */
export function rereadable(reader: TraceReader): () => AsyncIterable<TraceRow> | Iterable<TraceRow> {
  if (!isReadOnce(reader.path)) return () => reader;
  let kept: TraceRow[] | undefined;
  return () => {
    if (kept !== undefined) return kept;
    kept = [];
    return keeping(reader, kept);
  };
}

async function* keeping(rows: AsyncIterable<TraceRow>, kept: TraceRow[]): AsyncGenerator<TraceRow> {
  for await (const row of rows) {
    kept.push(row);
    yield row;
  }
}

/** Standard input, a named pipe, `<(…)` of a shell. Directories, and what cannot be looked at, are for the reader to report. */
export function isReadOnce(path: string): boolean {
  if (path === '-') return true;
  try {
    const stats = statSync(path);
    return !stats.isFile() && !stats.isDirectory();
  } catch {
    return false;
  }
}
