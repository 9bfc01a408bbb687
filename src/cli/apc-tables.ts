import type { ApcAnalysis } from '../analysis/apc.js';
import type { ApcResult } from '../analysis/request-log.js';
import { grouped } from '../text.js';
import { conventionText } from './apc-text.js';
import { bar, gib, percent } from './format.js';
import { table } from './table.js';

const BAR_CELLS = 40;

/** The whole answer of `kvidx apc` for people: every figure beside its definition. */
export function apcTables(
  analysis: ApcAnalysis,
  source: string,
  kvBytesPerToken: number | undefined,
): string {
  const { result } = analysis;
  const parts = [
    `APC upper bound of ${result.trace} (${source})`,
    table(['trace', 'value', 'definition'], traceRows(analysis, kvBytesPerToken)),
    table(['hit rate', 'value', 'cached tokens', 'requests hit', 'definition'], boundRows(result)),
  ];
  if (result.n_sessions === null) {
    parts.push('The trace names no sessions, so the intra-session and shared-prefix bounds are not known.');
  }
  if (result.lru_curve !== null && result.lru_cached_tokens !== null) {
    parts.push(
      table(...curve(result, result.lru_curve, result.lru_cached_tokens, kvBytesPerToken)),
      'LRU cache: Σ cached tokens ÷ Σ input tokens when the cache holds that many blocks, the least recently used\n' +
        'block leaves first, and of one request the later block before the earlier.',
    );
  }
  return `${parts.join('\n')}\n`;
}

function traceRows(analysis: ApcAnalysis, kvBytesPerToken: number | undefined): string[][] {
  const { result } = analysis;
  const size = kvBytesPerToken && ` (${gib(result.unique_blocks * result.block_size * kvBytesPerToken)})`;
  return [
    ['requests', grouped(result.n_requests), 'good rows of the trace'],
    [
      'sessions',
      result.n_sessions === null ? 'unknown' : grouped(result.n_sessions),
      'session_id, else chats with the same root of their parent chain',
    ],
    ['block size', `${grouped(result.block_size)} tokens`, conventionText(analysis)],
    ['input tokens', grouped(result.total_input_tokens), 'Σ input_length'],
    ['blocks', grouped(result.total_blocks), 'Σ number of ids'],
    [
      'unique blocks',
      grouped(result.unique_blocks),
      `different blocks, each with all that precedes it: what a cache holds that never evicts${size ?? ''}`,
    ],
  ];
}

function boundRows(result: ApcResult): string[][] {
  const row = (
    name: string,
    rate: number | null,
    tokens: number | null,
    hits: number | null,
    definition: string,
  ) => [
    name,
    rate === null ? 'unknown' : percent(rate),
    tokens === null ? '' : grouped(tokens),
    hits === null ? '' : grouped(hits),
    definition,
  ];
  return [
    row(
      'any session',
      result.apc_upper_any_session,
      result.cached_tokens_any_session,
      result.n_requests_any_hit,
      'the bound: Σ cached tokens ÷ Σ input tokens; a request hits its longest prefix among all earlier requests',
    ),
    row(
      'intra session',
      result.apc_upper_intra_session,
      result.cached_tokens_intra_session,
      result.n_requests_intra_hit,
      'the same among earlier requests of its own session only',
    ),
    row(
      'shared prefix only',
      result.apc_upper_shared_prefix_only,
      result.cached_tokens_shared_prefix_only,
      result.n_requests_shared_hit,
      `the same when only first blocks are cached that at least ${result.shared_prefix_min_sessions} sessions begin ` +
        `with${result.n_shared_pos0_blocks === null ? '' : ` (${grouped(result.n_shared_pos0_blocks)} in this trace)`}`,
    ),
    row('block-weighted', result.block_weighted_any, null, null, 'any session, Σ hit blocks ÷ Σ blocks'),
    row(
      'mean per request',
      result.per_request_mean_any,
      null,
      null,
      'any session, mean of hit blocks ÷ blocks over the requests that have blocks',
    ),
    row(
      'full blocks only',
      result.full_blocks_only_any,
      null,
      null,
      'any session, Σ tokens of hit blocks that are full ÷ Σ input tokens',
    ),
  ];
}

function curve(
  result: ApcResult,
  rates: Record<string, number>,
  tokens: Record<string, number>,
  kvBytesPerToken: number | undefined,
): [string[], string[][]] {
  const head = ['LRU cache, blocks', 'hit rate', 'cached tokens', ''];
  const rows = Object.entries(rates).map(([size, rate]) => [
    grouped(Number(size)),
    percent(rate),
    grouped(tokens[size]!),
    bar(rate, BAR_CELLS),
  ]);
  if (kvBytesPerToken !== undefined) {
    head.splice(1, 0, 'size');
    for (const [i, size] of Object.keys(rates).entries()) {
      rows[i]!.splice(1, 0, gib(Number(size) * result.block_size * kvBytesPerToken));
    }
  }
  return [head, rows];
}
