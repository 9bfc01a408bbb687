import type { ApcResult } from '../analysis/request-log.js';
import { createPolicy } from '../routing/policy/spec.js';
import type { PolicyResult, SimResult } from '../sim/types.js';

/** A worker with less than this part of its even share of the requests counts as left out. */
const LEFT_OUT = 0.1;

/** What spreads by load alone. */
const BY_LOAD = new Set(['sticky', 'load-only', 'lmetric', 'lpwl', 'lpwl-kappa', 'unified']);

const LOAD_IS_ZERO = `every request finishes before the next is routed, so that load is always 0 on the sequential clock. What
spreads by load alone (sticky, load-only, lmetric, lpwl, lpwl-kappa, unified) follows the first hit there, or takes the
first worker, and may put everything on one. That says nothing of these policies under load.`;

const COUNTS_BOILERPLATE = `it counts the blocks with which many sessions begin, so that the worker which has them first attracts them all. Count
overlap=fair or overlap=exclusive, or give a load floor (k=200).`;

const FEW_SESSIONS = 'the trace has fewer sessions than there are workers, and a session stays where it is.';

/** Says of the policies that leave workers out on the sequential clock why they do. */
export function collapseNotes({ rows, workers }: SimResult, { n_requests, n_sessions }: ApcResult): string[] {
  if (n_requests < workers) return [];
  const collapsed = rows.filter((row) => {
    return Math.min(...row.requests_per_worker) * workers < LEFT_OUT * n_requests;
  });
  if ((n_sessions ?? n_requests) < workers) return note(collapsed, FEW_SESSIONS);
  return [
    ...note(
      collapsed.filter(({ policy }) => BY_LOAD.has(kindOf(policy))),
      LOAD_IS_ZERO,
    ),
    ...note(
      collapsed.filter(({ policy }) => countsBoilerplate(policy)),
      COUNTS_BOILERPLATE,
    ),
  ];
}

function note(rows: readonly PolicyResult[], why: string): string[] {
  if (rows.length === 0) return [];
  const names = [...new Set(rows.map(({ policy }) => policy))].join(', ');
  return [`\nWorkers left out, or nearly so, by ${names}:\n${why}`];
}

function countsBoilerplate(spec: string): boolean {
  const { overlap } = createPolicy(spec).counts;
  return kindOf(spec) === 'kv-aware' && (overlap === 'set' || overlap === 'prefix');
}

function kindOf(spec: string): string {
  return spec.split(':', 1)[0]!;
}
