/*
 * Tests of `--compare` make kvidx slower than it is: KVIDX_BENCH_SLOWDOWN=1.2 lets everything that is timed, but the
 * baselines, take 1.2 times as long.
 */
export const SLOWDOWN = Number(process.env.KVIDX_BENCH_SLOWDOWN ?? 1);

/** Waits until what took from `start` to `end` has taken as long as asked for; answers when that is. */
export function slowedDown(start: number, end: number): number {
  if (SLOWDOWN === 1) return end;
  const until = start + (end - start) * SLOWDOWN;
  let now = end;
  while (now < until) now = performance.now();
  return now;
}
