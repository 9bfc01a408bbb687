import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { hybridLine } from '../trace/hybrid-line.js';
import { type SynthOptions, synthesizeTrace } from '../trace/synth.js';
import { CliError } from './cli-error.js';
import type { SynthFlags } from './synth.js';

const BATCH_CHARACTERS = 64 * 1024;

export async function runSynth({ out, ...options }: SynthFlags): Promise<void> {
  const source = Readable.from(batches(options));
  if (out === undefined) {
    await pipeline(source, process.stdout, { end: false }).catch(unlessReaderHasGone);
    return;
  }
  try {
    const file = createWriteStream(out);
    await (out.endsWith('.gz') ? pipeline(source, createGzip({ level: 9 }), file) : pipeline(source, file));
  } catch (error) {
    throw new CliError(`cannot write ${out}: ${(error as Error).message}`);
  }
}

/** `| head` ends the writing, and is no failure. */
function unlessReaderHasGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

function* batches(options: SynthOptions): Generator<string> {
  let batch = '';
  for (const row of synthesizeTrace(options)) {
    batch += `${hybridLine(row)}\n`;
    if (batch.length < BATCH_CHARACTERS) continue;
    yield batch;
    batch = '';
  }
  yield batch;
}
