import type { DegradedReason } from '../events/stream/types.js';
import { counted } from '../text.js';
import type { AppliedJson } from './events-ranks.js';
import { printable } from './printable.js';

/** What is not as it should be with a rank. */
export type Mark = DegradedReason | 'not connected' | 'block size' | 'media';

export interface Marked extends Pick<AppliedJson, 'refused_block_size' | 'refused_mediums'> {
  readonly connected?: boolean | null;
  readonly degraded: DegradedReason | null;
}

/** What a mark means, and what to do. */
const MEANINGS: Record<DegradedReason | 'not connected', string> = {
  'not connected':
    'nothing answers at the endpoint, which is tried again until the end (with --bind: no engine has connected yet). Is the engine up, and its port reachable from here?',
  'late-start':
    'the first messages were not heard, and no replay gave them: blocks stored before may be missing, until the engine clears its cache or begins anew. Without --replay all that was sent before is lost; else its endpoint did not answer in time, or buffer_steps of the engine no longer reaches back.',
  gap: 'messages are missing, and asked for.',
  'replay-too-short':
    'messages are missing that cannot be had any more, until the engine clears its cache or begins anew. Without --replay all that is missed is lost; else its endpoint did not answer in time, or buffer_steps of the engine is too small.',
  'replay-failed':
    'the replay endpoint does not answer, so that nothing tells what is missing; it is asked again. Is --replay right (not the endpoint of the events), and its port reachable?',
  damaged:
    'a message or event could not be read, so that blocks may be missing or outlived, until the engine clears its cache or begins anew.',
  unconfirmed:
    'nothing tells yet that the engine holds what is known: no message was heard, or none since the connection was lost. Without --replay it takes one.',
};

export function marksOf({ connected, degraded, refused_block_size, refused_mediums }: Marked): Mark[] {
  return [
    ...(connected === false ? (['not connected'] as const) : []),
    // An engine that was never reached is unconfirmed anyway.
    ...(degraded === null || (degraded === 'unconfirmed' && connected === false) ? [] : [degraded]),
    ...(refused_block_size === null ? [] : (['block size'] as const)),
    ...(refused_mediums.length === 0 ? [] : (['media'] as const)),
  ];
}

export function stateText(rank: Marked): string {
  return marksOf(rank).join(', ') || 'ok';
}

/** A line for each mark that is there. */
export function markNotes(ranks: readonly Marked[], blockSize: number | null): string[] {
  const present = [...new Set(ranks.flatMap(marksOf))];
  return present.map((mark) => `${mark}: ${meaningOf(mark, ranks, blockSize)}`);
}

/** What was wrong last, of each rank. */
export function problemNotes(
  ranks: readonly { readonly worker: string; readonly rank: number; readonly problem: string | null }[],
): string[] {
  return ranks
    .filter(({ problem }) => problem !== null)
    .map(
      ({ worker, rank, problem }) => `${printable(worker)} rank ${rank}, last: ${printable(problem!, 200)}`,
    );
}

function meaningOf(mark: Mark, ranks: readonly Marked[], blockSize: number | null): string {
  if (mark === 'block size') {
    const sizes = [...new Set(ranks.map((rank) => rank.refused_block_size).filter((size) => size !== null))];
    const index = counted(blockSize ?? 0, 'token');
    return `stores of blocks of ${sizes.join(', ')} tokens are refused: this index has blocks of ${index} (--block-size). Engines of different block sizes need an index each.`;
  }
  if (mark === 'media') {
    const media = [...new Set(ranks.flatMap((rank) => rank.refused_mediums))].map((name) =>
      JSON.stringify(name),
    );
    return `events of ${media.join(', ')} are left out: no tier is known for it.`;
  }
  return MEANINGS[mark];
}
