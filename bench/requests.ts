import { RESULT_LENGTH, type Seam } from '../src/native/seam.js';
import { TraceReader } from '../src/trace/trace-reader.js';
import { openIndex } from './backends.js';

/** Blocks that a worker is taken to hold. */
const CAPACITY = 5_000;

/** A request of a trace, ready to be asked for and fed. */
export interface Request {
  /** Seq hashes of its prompt. */
  readonly seq: BigUint64Array;
  /** Sessions count from 0. A request of none is a session of its own. */
  readonly session: number;
  /** Where its session is served. */
  readonly slot: number;
  readonly nowMs: number;
}

export interface Requests {
  readonly all: readonly Request[];
  readonly slots: number;
  readonly sessions: number;
  /** Blocks of all prompts together. */
  readonly blocks: number;
  /** Blocks that a bounded slot holds: fewer where a trace is so small that nothing would ever have to go. */
  readonly capacity: number;
}

/**
 * The requests of a trace in its order, chained before anything is timed. A session stays on its slot; a new one goes to
 * the next slot, round robin. `most`: requests read.
 */
export async function readRequests(
  path: string,
  seam: Seam,
  { slots, most = Number.POSITIVE_INFINITY }: { slots: number; most?: number },
): Promise<Requests> {
  const all: Request[] = [];
  const sessions = new Map<string, number>();
  let blocks = 0;
  for await (const { line, sessionId = `line ${line}`, hashIds, timestampMs = 0 } of new TraceReader(path)) {
    const session = sessions.get(sessionId) ?? sessions.size;
    sessions.set(sessionId, session);
    const seq = new BigUint64Array(hashIds.length);
    seam.chainHashes(hashIds, 0n, seq);
    blocks += seq.length;
    if (all.push({ seq, session, slot: session % slots, nowMs: timestampMs }) >= most) break;
  }
  const capacity = Math.min(CAPACITY, Math.ceil(differentBlocks(all, seam) / (2 * slots)));
  return { all, slots, sessions: sessions.size, blocks, capacity };
}

function differentBlocks(requests: readonly Request[], seam: Seam): number {
  const result = new Float64Array(RESULT_LENGTH);
  const index = openIndex(seam, 1);
  for (const { seq } of requests) index.store(0, index.incarnation(0), seq, undefined, 0, result);
  const { blocks } = index.stats();
  index.close();
  return Math.max(1, blocks);
}
