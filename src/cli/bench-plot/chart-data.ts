import { type Better, isTimeUnit, meets } from '../../../bench/figures.js';
import type { ReportFigure, ScenarioReport } from '../../../bench/report.js';
import { counted } from '../../text.js';
import { bounds, digits, marginWords, quantity, unitWords } from '../bench-words.js';

/** What `charts.js` draws: a row for each figure. */
export interface BarChart {
  readonly kind: 'bars';
  readonly label: string;
  readonly unit: string;
  readonly scale: 'linear' | 'log';
  readonly domain: readonly [number, number];
  /** Where bars begin; without it there are dots, since a logarithm has no zero. */
  readonly base?: number;
  readonly rows: readonly BarRow[];
}

export interface BarRow {
  readonly name: string;
  /** Value, error and target in words. */
  readonly shown: string;
  readonly value: number;
  /** Smallest and largest. */
  readonly launches: readonly [number, number];
  readonly targets: readonly number[];
  readonly baseline: boolean;
  /** Undefined without a target, and where it does not apply. */
  readonly met?: boolean;
}

export interface Histogram {
  readonly kind: 'histogram';
  readonly label: string;
  readonly unit: string;
  readonly domain: readonly [number, number];
  readonly bins: readonly { readonly from: number; readonly to: number; readonly share: number }[];
  readonly percentiles: readonly { readonly name: string; readonly value: number }[];
}

/** On a linear scale a value this many times below the largest cannot be told from others like it. */
const LINEAR_SPREAD = 20;
/** A linear scale may hide the rest: their values are told beside them. */
const LINEAR_SHARE = 2 / 3;
/** Of the samples, at either end, which would only make the rest narrow. */
const HIDDEN_SHARE = 0.002;
/** A histogram is at least so wide: its end divided by its begin. */
const LEAST_WIDTH = 1.6;

/**
 * The figures of a scenario in charts of one unit each, ratios first and parted by which way is better. What there is
 * nothing to compare to is left to the table: figures that would stand alone, and numbers of blocks and the like.
 */
export function barCharts({
  scenario,
  quick,
  figures,
}: ScenarioReport): { title: string; chart: BarChart }[] {
  const groups = new Map<string, [ReportFigure, ...ReportFigure[]]>();
  for (const figure of figures) {
    const key = JSON.stringify([figure.unit, isRatio(figure) ? direction(figure) : undefined]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [figure]);
    else group.push(figure);
  }
  return [...groups.values()]
    .filter((group) => (group.length > 1 && group.some(isComparable)) || group[0].target !== undefined)
    .sort(([a], [b]) => Number(isRatio(b)) - Number(isRatio(a)))
    .map((group) => {
      const title = groupTitle(group);
      return { title, chart: barChart(`${scenario}: ${title}`, group, quick) };
    });
}

function isComparable({ unit, target, better }: ReportFigure): boolean {
  return target !== undefined || better !== undefined || isTimeUnit(unit) || /^x$|^%|\//.test(unit);
}

/** Which way is better, where the figure or its target says so. */
function direction({ better, target }: ReportFigure): Better | undefined {
  if (better !== undefined || target === undefined) return better;
  if (target.atLeast === undefined) return 'lower';
  return target.atMost === undefined ? 'higher' : undefined;
}

function isRatio({ unit }: ReportFigure): boolean {
  return unit === 'x';
}

function groupTitle(figures: readonly [ReportFigure, ...ReportFigure[]]): string {
  const what = isRatio(figures[0]) ? 'Ratios' : unitWords(figures[0].unit);
  const directions = new Set(figures.flatMap((figure) => direction(figure) ?? []));
  return directions.size === 1 ? `${what}: ${[...directions]} is better` : what;
}

function barChart(label: string, figures: readonly ReportFigure[], quick: boolean): BarChart {
  const rows = figures.map((figure) => barRow(figure, quick));
  const unit = unitWords(figures[0]!.unit);
  const all = rows.flatMap(({ value, launches, targets }) => [value, ...launches, ...targets]);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const start = { kind: 'bars', label, unit, rows } as const;
  const seen = rows.filter(({ value }) => value * LINEAR_SPREAD > most).length;
  if (least <= 0 || seen >= LINEAR_SHARE * rows.length) {
    return {
      ...start,
      scale: 'linear',
      domain: [Math.min(0, least), Math.max(most, 0) * 1.04 || 1],
      base: 0,
    };
  }
  if (unit === '×') {
    return { ...start, scale: 'log', domain: [Math.min(1, least) / 1.05, Math.max(1, most) * 1.1], base: 1 };
  }
  return { ...start, scale: 'log', domain: [least / 1.3, most * 1.3] };
}

function barRow(figure: ReportFigure, quick: boolean): BarRow {
  const { name, value, unit, launches, target, baseline = false } = figure;
  const met = quick ? undefined : meets(figure);
  const words = [quantity(value, unit), marginWords(figure)];
  if (met !== undefined) words.push(`${met ? '✓' : '✗'} ${bounds(target!)}`);
  const targets = met === undefined ? [] : [target?.atLeast, target?.atMost];
  return {
    name,
    shown: words.filter((each) => each !== '').join('  '),
    value,
    launches: [Math.min(...launches), Math.max(...launches)],
    targets: targets.filter((each) => each !== undefined),
    baseline,
    ...(met !== undefined && { met }),
  };
}

/** The latencies of a figure, and in words how many samples they are and what is left out. */
export function latencyHistogram(
  scenario: string,
  { name, unit, latency }: ReportFigure,
): { note: string; chart: Histogram } | undefined {
  if (latency === undefined) return undefined;
  const { p50, p90, p99 } = latency;
  const { edges, counts } = latency.histogram;
  const samples = counts.reduce((sum, count) => sum + count, 0);
  if (samples === 0) return undefined;
  const bins = counts.map((count, i) => ({ from: edges[i]!, to: edges[i + 1]!, count }));
  // A percentile is shown, whatever the share of samples beyond it.
  const low = Math.min(bins.find(beginsMass(samples))!.from, p50);
  const high = Math.max(bins.toReversed().find(beginsMass(samples))!.to, p99 * 1.02);
  const widen = Math.max(1, Math.sqrt(LEAST_WIDTH / (high / low)));
  const slower = bins.filter(({ to }) => to > high).reduce((sum, { count }) => sum + count, 0);
  const note = [
    `p50 ${digits(p50)}, p90 ${digits(p90)}, p99 ${quantity(p99, unit)}; ${counted(samples, 'sample')}`,
  ];
  if (slower > 0)
    note.push(`${counted(slower, 'slower one')} up to ${quantity(edges.at(-1)!, unit)} not shown`);
  return {
    note: note.join(', '),
    chart: {
      kind: 'histogram',
      label: `${scenario}: how long the samples of “${name}” took`,
      unit,
      domain: [low / widen, high * widen],
      bins: bins
        .filter(({ from, to }) => from >= low && to <= high)
        .map(({ from, to, count }) => ({ from, to, share: count / samples })),
      percentiles: Object.entries({ p50, p90, p99 }).map(([name, value]) => ({ name, value })),
    },
  };
}

/** True from the bin on with which more than the hidden share of the samples has been seen. */
function beginsMass(samples: number): (bin: { readonly count: number }) => boolean {
  let seen = 0;
  return ({ count }) => {
    seen += count;
    return seen > HIDDEN_SHARE * samples;
  };
}
