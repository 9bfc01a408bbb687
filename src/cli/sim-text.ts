import type { ApcResult } from '../analysis/request-log.js';
import type { PolicyKind } from '../routing/policy/kind.js';
import { policyKinds } from '../routing/policy/registry.js';
import { createPolicy } from '../routing/policy/spec.js';
import type { PolicyResult, SimResult } from '../sim/types.js';

/** A worker with less than this part of its even share of the requests counts as left out. */
const LEFT_OUT = 0.1;

const BY_LOAD = policyKinds.filter(({ spreadsBy }) => spreadsBy === 'load').map(({ name }) => name);

const LOAD_IS_ZERO = `every request finishes before the next is routed, so that load is always 0 on the sequential clock. What
spreads by load alone (${BY_LOAD.join(', ')})
follows the first hit there, or takes the first worker, and may put everything on one. That says nothing of these policies
under load.`;

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
      collapsed.filter(({ policy }) => spreadsBy(policy) === 'load'),
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
  return spreadsBy(spec) === 'overlap' && (overlap === 'set' || overlap === 'prefix');
}

function spreadsBy(spec: string): PolicyKind['spreadsBy'] {
  const kind = spec.split(':', 1)[0];
  return policyKinds.find(({ name }) => name === kind)!.spreadsBy;
}
