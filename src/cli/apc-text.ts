import type { ApcAnalysis } from '../analysis/apc.js';
import { counted, grouped } from '../text.js';

/** How ids and input lengths go together, in words. */
export function conventionText({ blockSize: verdict, result }: ApcAnalysis): string {
  const rule =
    verdict.convention === 'ceil'
      ? 'ids = ⌈input_length ÷ size⌉ (ceil: a partial last block has an id)'
      : 'ids = ⌊input_length ÷ size⌋ (floor: only full blocks have an id)';
  const fit =
    verdict.contradictingRows === 0
      ? 'in every row'
      : `except in ${grouped(verdict.contradictingRows)} of ${counted(result.n_requests, 'row')}, first in line ${verdict.firstContradictingLine}`;
  return `${verdict.inferred ? 'inferred' : 'given'}; ${rule} ${fit}`;
}
