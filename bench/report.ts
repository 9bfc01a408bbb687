import type { CatalogueEntry } from './catalogue.js';
import { type Better, type Figure, isTimeUnit, type Latency, nsOf, type Target } from './figures.js';
import type { ScenarioResult } from './harness.js';
import { addBins, binEdges, median } from './statistics.js';

/** What `kvidx bench --json` prints and `--out` writes. */
export interface BenchReport extends Machine {
  readonly date: string;
  /** Smaller sizes and shorter rounds: figures of such a run compare with those of another such run alone. */
  readonly quick: boolean;
  /** Processes that each scenario ran in, one after the other. */
  readonly launches: number;
  /** What was typed, without folders. */
  readonly command: string;
  /** Name of the file that was replayed, where one was given. */
  readonly trace?: string;
  /** kvidx was made so many times slower than it is, to test comparisons. */
  readonly slowdown?: number;
  readonly scenarios: readonly ScenarioReport[];
}

export interface Machine {
  /** Version of the package. */
  readonly kvidx: string;
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  /** What is measured, whichever backend `KVIDX_BACKEND` chooses. */
  readonly backend: 'native';
  /** Instruction set of the addon's fastest paths. */
  readonly isa: string;
  /** Tokens a block, where a scenario does not say otherwise. */
  readonly blockSize: number;
}

export interface ScenarioReport {
  readonly scenario: string;
  readonly description: string;
  readonly quick: boolean;
  readonly checks: readonly string[];
  readonly notes: readonly string[];
  readonly figures: readonly ReportFigure[];
}

/** `edges[i]` to `edges[i + 1]`, in the figure's unit: `counts[i]` samples. Bins are as wide as they are far from 0. */
export interface Histogram {
  readonly edges: readonly number[];
  readonly counts: readonly number[];
}

/** A figure of all launches. */
export interface ReportFigure {
  readonly name: string;
  readonly unit: string;
  /** Median of the launches. */
  readonly value: number;
  /** Half of what the launches are apart, as a share of `value`. */
  readonly margin: number;
  readonly launches: readonly number[];
  /** Smallest and largest value of all rounds of all launches. */
  readonly range?: readonly [number, number];
  readonly target?: Target;
  readonly better?: Better;
  /** Of each launch, the value of its best round; where `better` is given. */
  readonly bests?: readonly number[];
  readonly latency?: Latency<Histogram>;
  readonly baseline?: true;
}

/** What several launches of one scenario found, as one. */
export function mergeLaunches(
  { description }: Pick<CatalogueEntry, 'description'>,
  launches: readonly ScenarioResult[],
): ScenarioReport {
  const [{ scenario, quick, checks, notes, figures }] = launches as [ScenarioResult];
  return {
    scenario,
    description,
    quick,
    checks,
    notes,
    figures: figures.map((figure) =>
      mergeFigure(launches.flatMap((launch) => launch.figures.find((each) => isSame(each, figure)) ?? [])),
    ),
  };
}

/** Two figures of a scenario may have one name, but then not one unit. */
export function isSame(a: Pick<Figure, 'name' | 'unit'>, b: Pick<Figure, 'name' | 'unit'>): boolean {
  return a.name === b.name && a.unit === b.unit;
}

function mergeFigure(each: readonly Figure[]): ReportFigure {
  const [{ name, unit, target, better, baseline }] = each as [Figure];
  const launches = each.map((figure) => figure.value);
  const value = median(launches);
  const apart = Math.max(...launches) - Math.min(...launches);
  const ranges = each.flatMap(({ range }) => range ?? []);
  const latencies = each.flatMap(({ latency }) => latency ?? []);
  return {
    name,
    unit,
    value,
    margin: apart === 0 ? 0 : apart / 2 / Math.abs(value),
    launches,
    ...(ranges.length > 0 && { range: [Math.min(...ranges), Math.max(...ranges)] }),
    ...(target && { target }),
    ...(better && { better, bests: each.map((figure) => figure.best ?? figure.value) }),
    ...(latencies.length > 0 && { latency: mergeLatencies(latencies, unit) }),
    ...(baseline && { baseline }),
  };
}

function mergeLatencies(each: readonly Latency[], unit: string): Latency<Histogram> {
  const all = (of: (latency: Latency) => number) => median(each.map(of));
  const bins = addBins(each.map(({ histogram }) => histogram));
  const scale = isTimeUnit(unit) ? nsOf(unit) : 1;
  return {
    p50: all(({ p50 }) => p50),
    p90: all(({ p90 }) => p90),
    p99: all(({ p99 }) => p99),
    histogram: { edges: binEdges(bins).map((ns) => ns / scale), counts: bins.counts },
  };
}
