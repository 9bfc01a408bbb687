export function median(values: ArrayLike<number>): number {
  return quantile(values, 0.5);
}

/** The smallest value above a share `q` of the values, 0 ≤ q < 1. */
export function quantile(values: ArrayLike<number>, q: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.floor(sorted.length * q)]!;
}

/** Times counted in bins of one grid for all: bin k begins at 2^(k / 8) ns, so a bin is some 9 % wide. */
export interface Bins {
  /** k of `counts[0]`. */
  readonly first: number;
  readonly counts: readonly number[];
}

const BINS_AN_OCTAVE = 8;
/** Shorter times are counted as this one. */
const LEAST_NS = 0.25;

export function binsOf(ns: Iterable<number>): Bins {
  const counts = new Map<number, number>();
  for (const each of ns) {
    const k = Math.floor(Math.log2(Math.max(each, LEAST_NS)) * BINS_AN_OCTAVE);
    counts.set(k, (counts.get(k) ?? 0) + 1);
  }
  return dense(counts);
}

export function addBins(all: readonly Bins[]): Bins {
  const counts = new Map<number, number>();
  for (const bins of all) {
    for (const [i, count] of bins.counts.entries()) {
      counts.set(bins.first + i, (counts.get(bins.first + i) ?? 0) + count);
    }
  }
  return dense(counts);
}

/** Where the bins begin, and where the last one ends, in ns. */
export function binEdges({ first, counts }: Bins): number[] {
  return Array.from({ length: counts.length + 1 }, (_, i) => 2 ** ((first + i) / BINS_AN_OCTAVE));
}

function dense(counts: ReadonlyMap<number, number>): Bins {
  const first = Math.min(...counts.keys());
  const length = Math.max(...counts.keys()) - first + 1;
  return { first, counts: Array.from({ length }, (_, i) => counts.get(first + i) ?? 0) };
}
