import type { Dialect } from '../src/events/fake/dialects.js';
import { encodeBatch, FakeEngine, traceTokens } from '../src/events/fake/index.js';
import { BlockSizeCheck } from '../src/trace/block-size.js';
import { TraceReader } from '../src/trace/trace-reader.js';
import type { TraceRow } from '../src/trace/types.js';

/** Messages that an engine published while it served a trace. */
export interface Recording {
  readonly payloads: readonly Uint8Array[];
  /** Blocks that were stored and removed. */
  readonly blocks: number;
  readonly events: number;
  readonly bytes: number;
  /** Share of the messages that store one block and say nothing else. */
  readonly singles: number;
  /** What the engine holds in the end, as kvidx names it, ascending. */
  readonly held: BigUint64Array;
}

export const RECORDED_BLOCK_SIZE = 16;
/** Of the cache: an engine's of 1.6 million tokens. */
const CAPACITY = 100_000;
/** With so many requests under way as tokens in a block and then four times, this many blocks are full after a step. */
const DECODED_BLOCKS = 4;

/** `most`: requests. A message is a step: those of an engine that decodes for one request at a time. */
export async function recordEvents(path: string, dialect: Dialect, most: number): Promise<Recording> {
  const rows: TraceRow[] = [];
  const sizes = new BlockSizeCheck();
  for await (const row of new TraceReader(path)) {
    sizes.add(row.inputLength, row.hashIds.length, row.line);
    if (rows.push(row) >= most) break;
  }
  const { blockSize } = sizes.verdict(path);
  const engine = new FakeEngine({
    blockSize: RECORDED_BLOCK_SIZE,
    capacity: CAPACITY,
    decodedBlocksPerBatch: DECODED_BLOCKS,
  });
  const payloads: Uint8Array[] = [];
  let [blocks, events, singles] = [0, 0, 0];
  for (const { tokens, output } of traceTokens(rows, blockSize)) {
    for (const batch of engine.serve({ tokens, output }).batches) {
      const named = batch.map((event) => (event.kind === 'cleared' ? 0 : event.blockHashes.length));
      blocks += named.reduce((sum, n) => sum + n, 0);
      events += batch.length;
      if (batch.length === 1 && batch[0]!.kind === 'stored' && named[0] === 1) singles++;
      const timestampMs = 1_700_000_000_000 + 13 * payloads.length;
      payloads.push(encodeBatch(dialect, { timestampMs, dpRank: 0, events: batch }));
    }
  }
  const bytes = payloads.reduce((sum, payload) => sum + payload.length, 0);
  return {
    payloads,
    blocks,
    events,
    bytes,
    singles: singles / payloads.length,
    held: engine.seqHashes().sort(),
  };
}
