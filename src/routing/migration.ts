/*
 * Elastic affinity: a session stays with its home until the home drowns in prefill work, and then moves once, for good,
 * to whoever has least. The cooldown keeps a session from being thrown to and fro by loads that swing.
 */

/** May a session move that moved at `movedAtMs` (undefined: never)? */
export function hasCooledDown(nowMs: number, movedAtMs: number | undefined, cooldownMs: number): boolean {
  return movedAtMs === undefined || nowMs - movedAtMs >= cooldownMs;
}

/**
 * The place to which a session moves from its `home`, or −1: it stays. It moves when the home's pending prefill is above
 * `hotTokens`, to the first of those with the least pending prefill, less than the home's, where it `fits`.
 * `pendingPrefillTokens`: Float64Array[count or more]; `home` −1: no home among these places, so nothing to move from.
 * Allocates nothing; `fits` is asked only for places that would be better than the best so far.
 */
export function migrationTarget(
  pendingPrefillTokens: Float64Array,
  count: number,
  home: number,
  hotTokens: number,
  fits: (place: number) => boolean,
): number {
  if (home < 0) return -1;
  let least = pendingPrefillTokens[home]!;
  if (!(least > hotTokens)) return -1;
  let target = -1;
  for (let place = 0; place < count; place++) {
    const pending = pendingPrefillTokens[place]!;
    if (pending < least && fits(place)) {
      least = pending;
      target = place;
    }
  }
  return target;
}
