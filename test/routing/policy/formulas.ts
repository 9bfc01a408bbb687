import type { Candidates } from '../../../src/routing/candidates.js';

/*
 * The policies once more, as plainly as they can be said: rational numbers where the formulas have a mean, tuples of
 * keys to be made as large as can be, and a list of who is best. Features must be whole numbers.
 */

/** Who may get the request; ties are broken among them. */
export type Formula = (
  candidates: Candidates,
  options: Readonly<Record<string, number | string>>,
) => number[];

function best(places: readonly number[], keysOf: (place: number) => readonly number[]): number[] {
  const better = (a: readonly number[], b: readonly number[]) => {
    const i = a.findIndex((value, k) => value !== b[k]);
    return i >= 0 && a[i]! > b[i]!;
  };
  return places.filter((place) => !places.some((other) => better(keysOf(other), keysOf(place))));
}

const all = ({ count }: Candidates) => Array.from({ length: count }, (_, place) => place);
const total = (column: Float64Array, count: number) => column.subarray(0, count).reduce((a, b) => a + b, 0);
const fresh = (c: Candidates, place: number) => Math.max(0, c.inputLength - c.cacheHitTokens[place]!);
const work = (c: Candidates, place: number) => c.pendingPrefillTokens[place]! + fresh(c, place);
const fewestRequests = (c: Candidates) => best(all(c), (place) => [-c.numRequests[place]!]);

const kvAware: Formula = (c, { overlap, alpha, loadFloor, by, floorScope, maxRejects }) => {
  const open = all(c).filter((place) => maxRejects === 0 || c.rejects[place]! < Number(maxRejects));
  if (open.length === 0) return best(all(c), (place) => [-c.rejects[place]!]);
  const load = by === 'work' ? c.work : c.assigned;
  const sum = BigInt(total(load, c.count));
  const floor = (place: number) => {
    if (sum === 0n || (floorScope === 'session' && c.hasHome)) return 0;
    if (floorScope !== 'all' && place === c.home) return 0;
    const belowMean = sum - BigInt(c.count) * BigInt(load[place]!); // times count, as the mean is
    return Number((BigInt(loadFloor!) * (belowMean > 0n ? belowMean : 0n)) / sum);
  };
  return best(open, (place) => {
    const sticky = place === c.home ? 1 : 0;
    const blocks = Number(alpha) * sticky + floor(place);
    const score = c.counted[place]! + (overlap === 'fair' ? 2 ** 20 * blocks : blocks);
    return [score, sticky, -c.inflight[place]!, -load[place]!];
  });
};

const unified: Formula = (c, { hitShare, loadFactor }) => {
  /* Bounds are quarters; both sides times 4 · count. */
  const bound = BigInt(4 * Number(loadFactor)) * BigInt(Math.max(total(c.numRequests, c.count), c.count));
  const stays =
    c.home >= 0 &&
    c.cacheHitTokens[c.home]! / Math.max(c.inputLength, 1) > Number(hitShare) &&
    BigInt(c.numRequests[c.home]!) * 4n * BigInt(c.count) <= bound;
  if (stays) return [c.home];
  return best(all(c), (place) => [
    -work(c, place) * c.numRequests[place]!,
    -fresh(c, place),
    -c.numRequests[place]!,
  ]);
};

export const FORMULAS: Readonly<Record<string, Formula>> = {
  'kv-aware': kvAware,
  lpwl: (c) => best(all(c), (place) => [-work(c, place), -c.numRequests[place]!]),
  'lpwl-kappa': (c, { kappa }) =>
    best(all(c), (place) => [
      -work(c, place) * (1 + Number(kappa) * c.ongoingDecodeTokens[place]!),
      -c.numRequests[place]!,
    ]),
  lmetric: (c) => best(all(c), (place) => [-work(c, place) * c.numRequests[place]!]),
  'load-only': fewestRequests,
  sticky: (c) => (c.home >= 0 ? [c.home] : fewestRequests(c)),
  unified,
  'round-robin': all,
  random: all,
};
