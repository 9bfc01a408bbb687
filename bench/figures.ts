import type { Bins } from './statistics.js';

/** What a figure should be; printed beside it. */
export type Target =
  | { readonly atLeast: number; readonly atMost?: number }
  | { readonly atMost: number; readonly atLeast?: number };

/** Which way is better. */
export type Better = 'lower' | 'higher';

/** How long single samples took. Of a sample of several operations: their mean. */
export interface Latency<Histogram = Bins> {
  /** In the unit of the figure. */
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly histogram: Histogram;
}

/** One line of what a launch found. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  /** `x` for a ratio. Times are `ns`, `µs`, `ms` or `s`, with what they are for behind a slash. */
  readonly unit: string;
  /** Smallest and largest value of the rounds. */
  readonly range?: readonly [number, number];
  readonly target?: Target;
  /** Given where the figure is worth comparing with that of another run: not for sizes, counts and shares. */
  readonly better?: Better;
  /** The value on a machine that does nothing else, as far as this launch saw it: of the best round. Default: `value`. */
  readonly best?: number;
  readonly latency?: Latency;
  /** Of what kvidx is measured against: where such a figure changes, the machine did. */
  readonly baseline?: true;
}

/** The figure without what it would be compared by: where the collector's work, say, is most of it. */
export function uncompared({ better: _, best: __, ...figure }: Figure): Figure {
  return figure;
}

export function meets({ value, target }: Pick<Figure, 'value' | 'target'>): boolean | undefined {
  if (target === undefined) return undefined;
  const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = target;
  return value >= atLeast && value <= atMost;
}

export type TimeUnit = keyof typeof NS | `${keyof typeof NS}/${string}`;

const NS = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 } as const;

/** Nanoseconds of one `ns/block`, `µs`, … */
export function nsOf(unit: TimeUnit): number {
  return NS[unit.split('/')[0] as keyof typeof NS];
}

export function isTimeUnit(unit: string): unit is TimeUnit {
  return Object.hasOwn(NS, unit.split('/')[0]!);
}
