import { encodeBatch, FakeEngine, traceTokens } from '../../../src/events/fake/index.js';
import { TraceReader } from '../../../src/trace/trace-reader.js';
import type { TraceRow } from '../../../src/trace/types.js';

export const RANKS = 2;
export const BLOCK_SIZE = 24;
const CAPACITY = 20_000;

/** What one rank published up to a checkpoint, since the one before, and what it then held, ascending. */
export interface Stage {
  readonly payloads: readonly Uint8Array[];
  readonly held: BigUint64Array;
}

/** Stages of each rank, in order. */
export type EngineRun = readonly (readonly Stage[])[];

export async function readTrace(path: string, most: number): Promise<TraceRow[]> {
  const rows: TraceRow[] = [];
  for await (const row of new TraceReader(path)) if (rows.push(row) === most) break;
  return rows;
}

/**
 * An engine that begins empty and serves the rows from `first` on, each session on one rank, with a checkpoint after
 * every `each` requests. Tokens are made as they are needed: all together they would take half a gigabyte.
 */
export function runEngine(rows: readonly TraceRow[], first: number, each: number, seed: number): EngineRun {
  const engines = Array.from(
    { length: RANKS },
    (_, rank) => new FakeEngine({ blockSize: BLOCK_SIZE, capacity: CAPACITY, seed: seed + rank }),
  );
  const stages: Stage[][] = engines.map(() => []);
  const sessions = new Map<string, number>();
  let payloads: Uint8Array[][] = engines.map(() => []);
  let i = 0;
  for (const { row, tokens, output } of traceTokens(rows, BLOCK_SIZE)) {
    if (i++ < first) continue;
    const session = row.sessionId ?? String(row.line);
    const rank = sessions.get(session) ?? sessions.size % RANKS;
    sessions.set(session, rank);
    for (const events of engines[rank]!.serve({ tokens, output }).batches) {
      payloads[rank]!.push(encodeBatch('vllm-map', { timestampMs: 1000 * i, dpRank: rank, events }));
    }
    if (i % each > 0 && i < rows.length) continue;
    engines.forEach((engine, r) => {
      stages[r]!.push({ payloads: payloads[r]!, held: engine.seqHashes().sort() });
    });
    payloads = engines.map(() => []);
  }
  return stages;
}
