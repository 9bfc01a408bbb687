import { writeFileSync } from 'node:fs';
import { analyzeApc } from '../analysis/apc.js';
import { BlockHasher } from '../hash/block-hasher.js';
import { KvIndex } from '../kv-index/index.js';
import { BloomFilter, encodeFrame, toParquet } from '../sketch/index.js';
import { TraceReader } from '../trace/trace-reader.js';
import type { TraceRow } from '../trace/types.js';
import { CliError } from './cli-error.js';
import { readingProgress } from './progress.js';
import type { SketchBuildFlags } from './sketch.js';
import { readHashes } from './sketch-hashes.js';
import { buildTable } from './sketch-tables.js';

const DEFAULT_BLOCK_SIZE = 24;

/** What a sketch is made of. */
interface Blocks {
  /** Each once. */
  readonly hashes: BigUint64Array;
  /** With all repetitions. */
  readonly named: number;
  readonly blockSize: number;
}

/** What `--json` prints. What only frames hold is null for Parquet filters. */
export interface SketchBuilt {
  readonly out: string;
  readonly format: 'frame' | 'parquet';
  readonly worker: string | null;
  readonly session: string | null;
  readonly block_size: number | null;
  readonly blocks: number;
  readonly blocks_named: number;
  readonly z: number;
  readonly bytes: number;
  readonly bytes_per_block: number;
  readonly target_fpp: number;
  readonly actual_fpp: number;
}

export async function runSketchBuild(input: string, flags: SketchBuildFlags): Promise<void> {
  const { out, targetFpp } = flags;
  const blocks = await (flags.trace ? blocksOfTrace : blocksOfList)(input, flags.blockSize);
  const filter = BloomFilter.of(blocks.hashes, targetFpp);
  const bytes = flags.format === 'frame' ? frameOf(filter, blocks, flags) : toParquet(filter);
  write(out, bytes);

  const built: SketchBuilt = {
    out,
    format: flags.format,
    ...namesOf(blocks, flags),
    blocks: blocks.hashes.length,
    blocks_named: blocks.named,
    z: filter.z,
    bytes: bytes.length,
    bytes_per_block: bytes.length / blocks.hashes.length,
    target_fpp: targetFpp,
    actual_fpp: filter.falsePositiveRate(),
  };
  const shown = flags.json ? `${JSON.stringify(built, null, 2)}\n` : buildTable(built);
  (out === '-' ? process.stderr : process.stdout).write(shown);
}

async function blocksOfList(input: string, blockSize = DEFAULT_BLOCK_SIZE): Promise<Blocks> {
  const given = await readHashes(input);
  if (given.length === 0) throw new CliError(`${input}: no hashes, and a sketch of nothing says nothing`);
  const hashes = given.toSorted().filter((hash, i, sorted) => i === 0 || hash !== sorted[i - 1]);
  return { hashes, named: given.length, blockSize };
}

/** All blocks that the rows name, chained; the analysis finds the block size, or holds the rows to the given one. */
async function blocksOfTrace(trace: string, given: number | undefined): Promise<Blocks> {
  const progress = await readingProgress(`reading ${trace}`);
  const reader = new TraceReader(trace, { onProgress: progress.onProgress });
  const index = new KvIndex();
  try {
    const worker = index.addWorker('all');
    const hasher = new BlockHasher();
    const options = { trace, ...(given === undefined ? {} : { blockSize: given }) };
    const { result } = await analyzeApc(storing(), options).finally(() => progress.stop());
    if (result.total_blocks === 0) throw new CliError(`${trace}: its rows name no blocks`);
    return {
      hashes: index.enumerate(worker),
      named: result.total_blocks,
      blockSize: result.block_size,
    };

    async function* storing(): AsyncGenerator<TraceRow> {
      for await (const row of reader) {
        index.store(worker, hasher.chainHashes(row.hashIds), { nowMs: 0 });
        yield row;
      }
    }
  } finally {
    index.close();
  }
}

function frameOf(filter: BloomFilter, { hashes, blockSize }: Blocks, flags: SketchBuildFlags): Uint8Array {
  const now = Date.now();
  return encodeFrame({
    kind: 'full',
    worker: flags.worker,
    session: flags.session,
    epoch: now,
    sequence: 0,
    timestampMs: now,
    keys: hashes.length,
    targetFpp: flags.targetFpp,
    blockSize,
    filter,
  });
}

function namesOf(
  { blockSize }: Blocks,
  { format, worker, session }: SketchBuildFlags,
): Pick<SketchBuilt, 'worker' | 'session' | 'block_size'> {
  if (format === 'parquet') return { worker: null, session: null, block_size: null };
  return { worker, session: session ?? null, block_size: blockSize };
}

function write(out: string, bytes: Uint8Array): void {
  if (out === '-') {
    process.stdout.write(bytes);
    return;
  }
  try {
    writeFileSync(out, bytes);
  } catch (error) {
    throw new CliError(`cannot write ${out}: ${(error as Error).message}`);
  }
}
