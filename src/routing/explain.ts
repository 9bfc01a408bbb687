import { FAIR_UNIT } from '../kv-index/index.js';
import { grouped } from '../text.js';
import type { Candidates } from './candidates.js';
import type { Policy, Ranking } from './policy/policy.js';
import type { WorkerRecord } from './state/worker-table.js';
import type { CandidateExplanation, RouteExplanation, SketchNote } from './types.js';

export interface Explained {
  readonly policy: Policy;
  readonly candidates: Candidates;
  /** In the places of the candidates. */
  readonly workers: readonly WorkerRecord[];
  /** Workers that take no requests. */
  readonly others: readonly WorkerRecord[];
  readonly noteOf: (worker: WorkerRecord) => SketchNote | undefined;
  /** Where migration moves the session instead of this place; −1: nowhere. */
  readonly moveTo: (place: number) => number;
}

export function explainRoute({
  policy,
  candidates,
  workers,
  others,
  noteOf,
  moveTo,
}: Explained): RouteExplanation {
  const ranking = policy.explain(candidates);
  const target = moveTo(ranking.winner);
  const winner = target < 0 ? ranking.winner : target;
  const unit = policy.counts.overlap === 'fair' ? FAIR_UNIT : 1;
  return {
    worker: workers[winner]!.name,
    policy: policy.spec,
    counts: policy.counts,
    message: message(ranking, winner, workers, candidates, noteOf(workers[winner]!)),
    candidates: ranking.candidates.map(({ place, keys, lost }): CandidateExplanation => {
      const sketch = noteOf(workers[place]!);
      const figure = (feature: Exclude<keyof Candidates, 'reserve'>) =>
        (candidates[feature] as Float64Array)[place]!;
      return {
        worker: workers[place]!.name,
        overlapBlocks: figure('overlapBlocks'),
        cachedTokens: figure('cacheHitTokens'),
        counted: figure('counted') / unit,
        sticky: place === candidates.home,
        inflight: figure('inflight'),
        assigned: figure('assigned'),
        work: figure('work'),
        rejects: figure('rejects'),
        pendingPrefillTokens: figure('pendingPrefillTokens'),
        numRequests: figure('numRequests'),
        ongoingDecodeTokens: figure('ongoingDecodeTokens'),
        ...(sketch && { sketch }),
        keys,
        lost: place === winner ? undefined : (lost ?? 'its home is hot, and the session moves'),
      };
    }),
    left: others.map(({ name, status }) => ({ worker: name, status })),
  };
}

function message(
  { winner: ranked, rule }: Ranking,
  winner: number,
  workers: readonly WorkerRecord[],
  candidates: Candidates,
  note: SketchNote | undefined,
): string {
  const cached = `${grouped(candidates.cacheHitTokens[winner]!)} of ${grouped(candidates.inputLength)} tokens are cached there`;
  const why = winner === ranked ? rule : `moved from the hot home "${workers[ranked]!.name}"`;
  return `"${workers[winner]!.name}" of ${workers.length}: ${why}; ${cached}${note ? source(note) : ''}.`;
}

function source({ ageMs, degraded, trust }: SketchNote): string {
  const mark = degraded === undefined ? '' : `, degraded: ${degraded}`;
  if (ageMs === undefined) return ` (no sketch of it has come yet${mark})`;
  const share = trust < 1 ? `, which counts for ${trust.toFixed(2)} of its blocks` : '';
  return ` (by a sketch ${(ageMs / 1000).toFixed(1)} s old${share}${mark})`;
}
