import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import type { KvidxError } from '../../src/errors.js';
import { TraceReader } from '../../src/trace/trace-reader.js';
import type { TraceReaderOptions, TraceRow } from '../../src/trace/types.js';

const folder = mkdtemp(join(tmpdir(), 'kvidx-trace-'));
afterAll(async () => rm(await folder, { recursive: true }));
let files = 0;

/** A file of its own for a test. */
export async function traceFile(content: string | Uint8Array, name = 'trace.jsonl'): Promise<string> {
  const path = join(await folder, `${files++}-${name}`);
  await writeFile(path, content);
  return path;
}

export async function readRows(path: string, options?: TraceReaderOptions): Promise<TraceRow[]> {
  const rows: TraceRow[] = [];
  for await (const row of new TraceReader(path, options)) rows.push(row);
  return rows;
}

export async function rowsOf(
  content: string | Uint8Array,
  options?: TraceReaderOptions,
): Promise<TraceRow[]> {
  return readRows(await traceFile(content), options);
}

/** The error that reading ends with. */
export async function failure(reading: Promise<unknown>): Promise<KvidxError> {
  try {
    await reading;
  } catch (error) {
    return error as KvidxError;
  }
  throw new Error('nothing was thrown');
}

/** A real trace beside the project, or undefined: the test is skipped then. */
export function realTrace(name: string): string | undefined {
  const path = fileURLToPath(new URL(`../../../shared/traces/${name}.jsonl.gz`, import.meta.url));
  return existsSync(path) ? path : undefined;
}
