/*
 * Did a build become slower, or was the machine busy? Compared are the best rounds: other work on the machine only ever
 * adds time, so what the quietest moment of a run shows is the code. How sure that is, the two best launches of a run say:
 * where they agree, the best is no accident.
 */
import type { BenchReport, ReportFigure } from './report.js';
import { isSame } from './report.js';

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
const LEAST_CHANGE = 0.08;

export function compareReports(now: BenchReport, old: BenchReport): Comparison {
  const figures: ComparedFigure[] = [];
  const unmatched: string[] = [];
  for (const { scenario, figures: ours } of now.scenarios) {
    const theirs = old.scenarios.find((each) => each.scenario === scenario)?.figures ?? [];
    for (const figure of ours) {
      if (figure.better === undefined) continue;
      const other = theirs.find((each) => isSame(each, figure));
      if (other?.bests === undefined) unmatched.push(`${scenario}: ${figure.name}`);
      else figures.push({ scenario, ...compareFigures(figure, other) });
    }
  }
  return { with: old.date, differences: differencesOf(now, old), figures, unmatched };
}

function compareFigures(now: ReportFigure, old: ReportFigure): Omit<ComparedFigure, 'scenario'> {
  const [ours, theirs] = [best(now), best(old)];
  const ratio = now.better === 'lower' ? ours.value / theirs.value : theirs.value / ours.value;
  const noise = LEAST_CHANGE + ours.doubt + theirs.doubt;
  const { name, unit, baseline } = now;
  return {
    name,
    unit,
    old: theirs.value,
    new: ours.value,
    ratio,
    noise,
    verdict: verdictOf(ratio, noise),
    ...(baseline && { baseline }),
  };
}

function verdictOf(ratio: number, noise: number): Verdict {
  if (ratio > 1 + noise) return 'worse';
  return ratio < 1 / (1 + noise) ? 'better' : 'no change';
}

/** The value of the best launch, and how far the next one is from it, as a share. */
function best({ bests, better }: ReportFigure): { value: number; doubt: number } {
  const [value, next] = bests!.toSorted((a, b) => (better === 'lower' ? a - b : b - a)) as [number, number?];
  if (next === undefined) return { value, doubt: ONE_LAUNCH_DOUBT };
  return { value, doubt: Math.abs(next - value) / value };
}

/** With one launch nobody knows. */
const ONE_LAUNCH_DOUBT = 0.1;

function differencesOf(now: BenchReport, old: BenchReport): string[] {
  const told = {
    cpu: 'processor',
    cores: 'cores',
    isa: 'instruction set',
    node: 'Node',
    kvidx: 'kvidx',
  } as const;
  return Object.entries(told)
    .filter(([key]) => now[key as keyof typeof told] !== old[key as keyof typeof told])
    .map(([key, name]) => `${name}: ${old[key as keyof typeof told]}, now ${now[key as keyof typeof told]}`);
}
