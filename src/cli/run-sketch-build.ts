import { writeFileSync } from 'node:fs';
import { analyzeApc } from '../analysis/apc.js';
import { BlockHasher, DEFAULT_BLOCK_SIZE, MAX_BLOCK_SIZE } from '../hash/block-hasher.js';
import { KvIndex } from '../kv-index/index.js';
import { BloomFilter, encodeFrame, toParquet } from '../sketch/index.js';
import { grouped } from '../text.js';
import { TraceReader } from '../trace/trace-reader.js';
import type { TraceRow } from '../trace/types.js';
import { CliError } from './cli-error.js';
import { print } from './print.js';
import { readingProgress } from './progress.js';
import type { SketchBuildFlags } from './sketch.js';
import { readHashes } from './sketch-hashes.js';
import { buildTable } from './sketch-tables.js';

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
  if (flags.format === 'frame' && blocks.blockSize > MAX_BLOCK_SIZE) {
    const [size, most] = [grouped(blocks.blockSize), grouped(MAX_BLOCK_SIZE)];
    throw new CliError(
      `${input}: its blocks have ${size} tokens, and no index takes blocks of more than ${most}`,
    );
  }
  const filter = BloomFilter.of(blocks.hashes, targetFpp);
  const bytes = flags.format === 'frame' ? frameOf(filter, blocks, flags) : toParquet(filter);
  await write(out, bytes);

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
  const hashes = await readHashes(input);
  return { hashes: onlyDifferent(hashes), named: hashes.length, blockSize };
}

/** Sorts them, and answers the part of their memory that has each once: they may take a gigabyte. */
function onlyDifferent(hashes: BigUint64Array): BigUint64Array {
  let count = 0;
  for (const hash of hashes.sort()) {
    if (count === 0 || hash !== hashes[count - 1]) hashes[count++] = hash;
  }
  return hashes.subarray(0, count);
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

async function write(out: string, bytes: Uint8Array): Promise<void> {
  if (out === '-') return print([bytes]);
  try {
    writeFileSync(out, bytes);
  } catch (error) {
    throw new CliError(`cannot write ${out}: ${(error as Error).message}`);
  }
}
