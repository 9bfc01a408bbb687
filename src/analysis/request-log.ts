import type { TraceRow } from '../trace/types.js';
import { GrowingUint32 } from './growing-array.js';

/** What the analysis needs of a row. */
export type ApcRow = Pick<TraceRow, 'line' | 'inputLength' | 'sessionId' | 'hashIds'>;

/** The figures of `analyzeApc`. The names are those of the JSON output; rates are from 0 to 1. */
export interface ApcResult {
  trace: string;
  n_requests: number;
  /** null: the trace names no sessions; so are the intra and shared figures. */
  n_sessions: number | null;
  /** Tokens a block. */
  block_size: number;
  shared_prefix_min_sessions: number;
  total_input_tokens: number;
  /** Σ cached tokens ÷ Σ input tokens, of a perfect cache that all sessions share. */
  apc_upper_any_session: number;
  /** The same with a perfect cache for each session alone. */
  apc_upper_intra_session: number | null;
  /** The same where only first blocks that occur in `shared_prefix_min_sessions` sessions are cached. */
  apc_upper_shared_prefix_only: number | null;
  cached_tokens_any_session: number;
  cached_tokens_intra_session: number | null;
  cached_tokens_shared_prefix_only: number | null;
  n_requests_any_hit: number;
  n_requests_intra_hit: number | null;
  n_requests_shared_hit: number | null;
  n_shared_pos0_blocks: number | null;
  /** Block ids in all requests. */
  total_blocks: number;
  /** Different (prefix, block) pairs. */
  unique_blocks: number;
  /** Σ hit blocks ÷ Σ blocks. */
  block_weighted_any: number;
  /** Mean of hit blocks ÷ blocks over the requests that have blocks. */
  per_request_mean_any: number;
  /** Σ tokens of full hit blocks ÷ Σ input tokens. */
  full_blocks_only_any: number;
  /** Hit rate (token-weighted) of an LRU cache, by its size in blocks. null: no curve was asked for. */
  lru_curve: Record<string, number> | null;
  lru_cached_tokens: Record<string, number> | null;
}

export interface ResultContext {
  readonly trace: string;
  readonly blockSize: number;
  readonly sharedMinSessions: number;
  readonly uniqueBlocks: number;
  /** Every size that was counted, and those that the result shows. */
  readonly sizes: readonly number[];
  readonly shownSizes: readonly number[];
}

const NO_BLOCK = 0xffff_ffff;

/**
 * What each request hit, in blocks. The block size may be known only after the last row, so tokens are reckoned at the
 * end.
 */
export class RequestLog {
  private readonly inputs = new GrowingUint32();
  private readonly blocks = new GrowingUint32();
  /** `hits` of the counter, row after row: any session, this session, then a column a cache size. */
  private readonly hits = new GrowingUint32();
  /** Number of the row's session; 0: it has none. */
  private readonly sessions = new GrowingUint32();
  /** Number of the row's first block; NO_BLOCK: it has none. */
  private readonly firstBlocks = new GrowingUint32();
  private readonly sessionNumbers = new Map<string, number>();
  private readonly firstBlockNumbers = new Map<bigint, number>();
  private readonly columns: number;

  constructor(curveSizes: number) {
    this.columns = 2 + curveSizes;
  }

  get requests(): number {
    return this.inputs.length;
  }

  /** From 1; 0: no session. */
  sessionNumber(name: string | undefined): number {
    return name === undefined ? 0 : numberOf(this.sessionNumbers, name) + 1;
  }

  add(row: ApcRow, session: number, hits: Uint32Array): void {
    this.inputs.push(row.inputLength);
    this.blocks.push(row.hashIds.length);
    this.hits.pushAll(hits);
    this.sessions.push(session);
    const first = row.hashIds[0];
    this.firstBlocks.push(first === undefined ? NO_BLOCK : numberOf(this.firstBlockNumbers, first));
  }

  result(context: ResultContext): ApcResult {
    const { blockSize } = context;
    const total = sum(this.inputs.view());
    const totalBlocks = sum(this.blocks.view());
    const any = this.tally(0, blockSize);
    const named = this.sessionNumbers.size > 0;
    const intra = named ? this.tally(1, blockSize) : undefined;
    const shared = named ? this.sharedPrefix(blockSize, context.sharedMinSessions) : undefined;
    const curve = context.shownSizes.map((size) => {
      return [size, this.tally(2 + context.sizes.indexOf(size), blockSize).tokens] as const;
    });
    return {
      trace: context.trace,
      n_requests: this.requests,
      n_sessions: named ? this.sessionNumbers.size + this.unnamedRows() : null,
      block_size: blockSize,
      shared_prefix_min_sessions: context.sharedMinSessions,
      total_input_tokens: total,
      apc_upper_any_session: rate(any.tokens, total),
      apc_upper_intra_session: intra ? rate(intra.tokens, total) : null,
      apc_upper_shared_prefix_only: shared ? rate(shared.tokens, total) : null,
      cached_tokens_any_session: any.tokens,
      cached_tokens_intra_session: intra?.tokens ?? null,
      cached_tokens_shared_prefix_only: shared?.tokens ?? null,
      n_requests_any_hit: any.requests,
      n_requests_intra_hit: intra?.requests ?? null,
      n_requests_shared_hit: shared?.requests ?? null,
      n_shared_pos0_blocks: shared?.sharedBlocks ?? null,
      total_blocks: totalBlocks,
      unique_blocks: context.uniqueBlocks,
      block_weighted_any: rate(any.blocks, totalBlocks),
      per_request_mean_any: this.meanRate(),
      full_blocks_only_any: rate(any.fullBlockTokens, total),
      lru_curve:
        curve.length > 0 ? Object.fromEntries(curve.map(([size, t]) => [size, rate(t, total)])) : null,
      lru_cached_tokens: curve.length > 0 ? Object.fromEntries(curve) : null,
    };
  }

  /** Sums one column of hits. A partial last block counts its tokens only: never more than the input. */
  private tally(column: number, blockSize: number) {
    const inputs = this.inputs.view();
    const hits = this.hits.view();
    const tally = { requests: 0, blocks: 0, tokens: 0, fullBlockTokens: 0 };
    for (let i = 0, at = column; i < inputs.length; i++, at += this.columns) {
      const hit = hits[at]!;
      if (hit > 0) tally.requests += 1;
      tally.blocks += hit;
      tally.tokens += Math.min(hit * blockSize, inputs[i]!);
      tally.fullBlockTokens += Math.min(hit, Math.floor(inputs[i]! / blockSize)) * blockSize;
    }
    return tally;
  }

  private meanRate(): number {
    const blocks = this.blocks.view();
    const hits = this.hits.view();
    let requests = 0;
    let rates = 0;
    for (let i = 0; i < blocks.length; i++) {
      if (blocks[i] === 0) continue;
      requests += 1;
      rates += hits[i * this.columns]! / blocks[i]!;
    }
    return rate(rates, requests);
  }

  /** One block a hit, for every request but the first that begins with a block that enough sessions begin with. */
  private sharedPrefix(blockSize: number, minSessions: number) {
    const firstBlocks = this.firstBlocks.view();
    const inputs = this.inputs.view();
    const sessionsOf = this.sessionsByFirstBlock();
    const seen = new Uint8Array(sessionsOf.length);
    const shared = {
      requests: 0,
      tokens: 0,
      sharedBlocks: sessionsOf.filter((n) => n >= minSessions).length,
    };
    for (let i = 0; i < firstBlocks.length; i++) {
      const block = firstBlocks[i]!;
      if (block === NO_BLOCK || sessionsOf[block]! < minSessions) continue;
      if (seen[block] === 1) {
        shared.requests += 1;
        shared.tokens += Math.min(blockSize, inputs[i]!);
      }
      seen[block] = 1;
    }
    return shared;
  }

  /** The number of sessions that begin a request with each first block. A row without a session is one of its own. */
  private sessionsByFirstBlock(): Uint32Array {
    const firstBlocks = this.firstBlocks.view();
    const sessions = this.sessions.view();
    const counts = new Uint32Array(this.firstBlockNumbers.size);
    const pairs = new Set<number>();
    const stride = this.sessionNumbers.size + 1;
    for (let i = 0; i < firstBlocks.length; i++) {
      const block = firstBlocks[i]!;
      if (block === NO_BLOCK) continue;
      const pair = block * stride + sessions[i]!;
      if (sessions[i] !== 0 && pairs.has(pair)) continue;
      pairs.add(pair);
      counts[block]! += 1;
    }
    return counts;
  }

  private unnamedRows(): number {
    return this.sessions.view().reduce((rows, session) => rows + (session === 0 ? 1 : 0), 0);
  }
}

function numberOf<K>(numbers: Map<K, number>, key: K): number {
  let number = numbers.get(key);
  if (number === undefined) {
    number = numbers.size;
    numbers.set(key, number);
  }
  return number;
}

function sum(values: Uint32Array): number {
  return values.reduce((total, value) => total + value, 0);
}

function rate(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
