/** Numbers from a seed (mulberry32), so that a failure can be repeated. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

export function randomTokens(random: (below: number) => number, length: number): Uint32Array {
  return Uint32Array.from({ length }, () => random(2 ** 32));
}
