/*
 * Did a build become slower, or was the machine busy? Compared are the best rounds: other work on the machine only ever
 * adds time, so what the quietest moment of a run shows is the code. How sure that is, two things say: how far the best
 * launches of a run are apart, and how far the baselines of the scenario moved, which no build touches. And where only
 * some launches of a run are beyond those of the other, it was chance.
 */
import type { BenchReport, ReportFigure } from './report.js';
import { isSame } from './report.js';
import { median } from './statistics.js';

export type Verdict = 'no change' | 'better' | 'worse';

export interface ComparedFigure {
  readonly scenario: string;
  readonly name: string;
  readonly unit: string;
  readonly old: number;
  readonly new: number;
  /** What it costs now ÷ what it cost: above 1 is worse, also where higher figures are better. */
  readonly ratio: number;
  /** A change is told from noise where `ratio` is further from 1 than this. */
  readonly noise: number;
  readonly verdict: Verdict;
  /** It is of what kvidx is measured against: its verdict is about the machine. */
  readonly baseline?: true;
}

export interface Comparison {
  /** `date` of the other report. */
  readonly with: string;
  /** What differs besides the code, such as the processor. */
  readonly differences: readonly string[];
  readonly figures: readonly ComparedFigure[];
  /** Figures that only one of the reports has. */
  readonly unmatched: readonly string[];
}

/** A change below this is none: what the compiler's layout of unchanged code moves a figure by. */
const LEAST_CHANGE = 0.1;

export function compareReports(now: BenchReport, old: BenchReport): Comparison {
  const unmatched: string[] = [];
  const figures = now.scenarios.flatMap(({ scenario, figures: ours }) => {
    const theirs = old.scenarios.find((each) => each.scenario === scenario)?.figures ?? [];
    const pairs: Pair[] = [];
    for (const figure of ours.filter(isCompared)) {
      const other = theirs.find((each) => isSame(each, figure));
      if (other?.bests === undefined) unmatched.push(`${scenario}: ${figure.name}`);
      else pairs.push(pairOf(figure, other));
    }
    for (const figure of theirs.filter(isCompared)) {
      if (!ours.some((each) => isSame(each, figure))) unmatched.push(`${scenario}: ${figure.name}`);
    }
    const drifts = pairs.filter(({ baseline }) => baseline).map(({ ratio }) => distance(ratio));
    const drift = drifts.length === 0 ? 0 : median(drifts);
    return pairs.map((pair) => ({ scenario, ...judged(pair, drift) }));
  });
  return { with: old.date, differences: differencesOf(now, old), figures, unmatched };
}

/** What changed in both comparisons, which are of different launches with the same run, and in the same way. */
export function confirmed(first: Comparison, second: Comparison): Comparison {
  const figures = first.figures.map((figure): ComparedFigure => {
    if (figure.verdict === 'no change') return figure;
    const again = second.figures.find((each) => each.scenario === figure.scenario && isSame(each, figure));
    return again?.verdict === figure.verdict ? figure : { ...(again ?? figure), verdict: 'no change' };
  });
  return { ...first, figures };
}

/** Of a ratio, both sides are compared as they are: the ratio would only add the noise of the one to that of the other. */
function isCompared({ better, unit }: ReportFigure): boolean {
  return better !== undefined && unit !== 'x';
}

interface Pair extends Omit<ComparedFigure, 'scenario' | 'noise' | 'verdict'> {
  /** Of both runs: how far the two best launches are apart, as a share. */
  readonly doubt: number;
  /** Every launch of the one run beats every launch of the other. */
  readonly apart: boolean;
}

function pairOf(now: ReportFigure, old: ReportFigure): Pair {
  // What it costs: lower is better.
  const [ours, theirs] = [now, old].map(({ bests }) =>
    bests!.map((best) => (now.better === 'lower' ? best : 1 / best)).toSorted((a, b) => a - b),
  ) as [number[], number[]];
  const { name, unit, baseline } = now;
  const value = (cost: number) => (now.better === 'lower' ? cost : 1 / cost);
  return {
    name,
    unit,
    old: value(theirs[0]!),
    new: value(ours[0]!),
    ratio: shareOf(ours[0]!, theirs[0]!),
    doubt: doubtOf(ours) + doubtOf(theirs),
    apart: ours[0]! > theirs.at(-1)! || ours.at(-1)! < theirs[0]!,
    ...(baseline && { baseline }),
  };
}

function judged({ doubt, apart, ...pair }: Pair, drift: number): Omit<ComparedFigure, 'scenario'> {
  const noise = LEAST_CHANGE + doubt + (pair.baseline ? 0 : drift);
  const changed = apart && distance(pair.ratio) > noise;
  return { ...pair, noise, verdict: changed ? (pair.ratio > 1 ? 'worse' : 'better') : 'no change' };
}

/** Times below what the clock itself costs read as 0: two of them are alike. */
function shareOf(a: number, b: number): number {
  return a === b ? 1 : a / b;
}

/** How much the larger of two costs is above the other, as a share. */
function distance(ratio: number): number {
  return Math.max(ratio, 1 / ratio) - 1;
}

function doubtOf([best, next]: readonly number[]): number {
  return next === undefined ? ONE_LAUNCH_DOUBT : shareOf(next, best!) - 1;
}

/** With one launch nobody knows. */
const ONE_LAUNCH_DOUBT = 0.1;

const TOLD = {
  cpu: 'processor',
  cores: 'cores',
  isa: 'instruction set',
  node: 'Node',
  kvidx: 'kvidx',
  blockSize: 'block size',
  launches: 'launches',
  trace: 'trace',
  slowdown: 'slowed down on purpose',
} as const satisfies Partial<Record<keyof BenchReport, string>>;

function differencesOf(now: BenchReport, old: BenchReport): string[] {
  return (Object.keys(TOLD) as (keyof typeof TOLD)[])
    .filter((key) => now[key] !== old[key])
    .map((key) => `${TOLD[key]}: ${old[key] ?? 'none'}, now ${now[key] ?? 'none'}`);
}
