import type { PolicyResult, Simulation } from '../sim/types.js';
import { counted, grouped } from '../text.js';
import { conventionText } from './apc-text.js';
import { percent } from './format.js';
import { collapseNotes } from './sim-text.js';
import { table } from './table.js';

/** With more workers, a range says more than a list. */
const MOST_LISTED = 4;

/** The whole answer of `kvidx sim` on the sequential clock for people: every figure has its definition. */
export function simTables(simulation: Simulation, source: string): string {
  const { result, bound } = simulation;
  const parts = [
    `${result.trace} (${source}) on ${counted(result.workers, 'worker')}, sequential clock`,
    table(['trace', 'value', 'definition'], traceRows(simulation)),
    table(
      ['policy', 'hit rate', 'of bound', 'balance', 'work balance', 'requests a worker'],
      result.rows.map(policyRow),
    ),
    `hit rate: Σ cached tokens ÷ Σ input tokens, in caches that never evict. of bound: hit rate ÷ bound.
balance: the most requests of a worker ÷ their mean; 1 is even, the number of workers is all on one.
work balance: the same of new tokens, those that have to be prefilled.`,
    ...collapseNotes(result, bound.result),
  ];
  return `${parts.join('\n')}\n`;
}

function traceRows({ bound }: Simulation): string[][] {
  const { result } = bound;
  return [
    ['requests', grouped(result.n_requests), 'good rows of the trace, in the order of the file'],
    [
      'sessions',
      result.n_sessions === null ? 'unknown' : grouped(result.n_sessions),
      result.n_sessions === null
        ? 'the trace names none: every request is one of its own'
        : 'session_id, else chats with the same root of their parent chain',
    ],
    ['block size', `${grouped(result.block_size)} tokens`, conventionText(bound)],
    ['input tokens', grouped(result.total_input_tokens), 'Σ input_length'],
    [
      'bound',
      percent(result.apc_upper_any_session),
      'the hit rate of one perfect cache for all (any session of kvidx apc), which no policy exceeds',
    ],
  ];
}

function policyRow(row: PolicyResult): string[] {
  return [
    row.policy,
    percent(row.apc),
    row.share_of_bound === null ? '' : percent(row.share_of_bound),
    row.balance.toFixed(2),
    workBalance(row.new_tokens_per_worker),
    spread(row.requests_per_worker),
  ];
}

function workBalance(newTokens: readonly number[]): string {
  const all = newTokens.reduce((sum, tokens) => sum + tokens, 0);
  return all === 0 ? '' : ((Math.max(...newTokens) * newTokens.length) / all).toFixed(2);
}

/** Each worker's figure; of many workers the least and the greatest. */
function spread(figures: readonly number[]): string {
  if (figures.length <= MOST_LISTED) return figures.map(grouped).join(' / ');
  return `${grouped(Math.min(...figures))} … ${grouped(Math.max(...figures))}`;
}
