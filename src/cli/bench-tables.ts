import type { ComparedFigure, Comparison } from '../../bench/compare.js';
import { meets } from '../../bench/figures.js';
import type { BenchReport, ReportFigure, ScenarioReport } from '../../bench/report.js';
import { counted } from '../text.js';
import { bounds, digits, marginWords, percents } from './bench-words.js';
import { table } from './table.js';

export function machineLine(report: BenchReport): string {
  const { kvidx, node, cpu, cores, backend, isa, blockSize, launches, quick, slowdown } = report;
  const parts = [
    `kvidx ${kvidx}`,
    `Node ${node}`,
    `${cpu}, ${counted(cores, 'core')}`,
    `${backend}, ${isa}`,
    `blocks of ${blockSize} tokens`,
    launches === 1 ? '1 launch' : `${launches} launches`,
    ...(slowdown === undefined ? [] : [`slowed down ${slowdown} times on purpose`]),
  ];
  return `${parts.join(' · ')}${quick ? ' · quick' : ''}`;
}

export function scenarioText({
  scenario,
  description,
  quick,
  checks,
  notes,
  figures,
}: ScenarioReport): string {
  const rows = figures.map((figure) => [
    figure.name,
    `${digits(figure.value)} ${figure.unit}`,
    marginWords(figure),
    ...(figure.latency ? [digits(figure.latency.p90), digits(figure.latency.p99)] : ['', '']),
    quick ? '' : verdict(figure),
  ]);
  const lines = [
    `${scenario}: ${description}`,
    table(['', 'median', 'margin', 'p90', 'p99', 'target'], rows),
  ];
  lines.push(...checks.map((check) => `asserted: ${check}`), ...notes);
  if (quick) lines.push('--quick: sizes are small, the targets do not apply');
  return lines.join('\n');
}

/** How many targets are met, and which are not; nothing where none apply. */
export function targetsText({ quick, scenarios }: BenchReport): string | undefined {
  const aimed = scenarios.flatMap(({ scenario, figures }) =>
    figures.filter(({ target }) => target).map((figure) => ({ scenario, figure })),
  );
  if (quick || aimed.length === 0) return undefined;
  const missed = aimed.filter(({ figure }) => !meets(figure));
  const names = missed.map(
    ({ scenario, figure }) =>
      `\n  missed: ${scenario}: ${figure.name}: ${digits(figure.value)} ${figure.unit}, ${bounds(figure.target!)}`,
  );
  return `targets: ${aimed.length - missed.length} of ${aimed.length} met${names.join('')}`;
}

/** What changed, and how many figures did not. */
export function comparisonText({ figures, differences, unmatched, ...comparison }: Comparison): string {
  const changed = figures.filter(({ verdict }) => verdict !== 'no change');
  const ours = (all: readonly ComparedFigure[]) => all.filter(({ baseline }) => !baseline);
  const lines = [`compared with the run of ${comparison.with}`];
  lines.push(...differences.map((difference) => `not the same: ${difference}`));
  if (figures.length > 0) {
    const rows = figures.map((figure) => [
      `${figure.scenario}: ${figure.name}`,
      `${digits(figure.old)} ${figure.unit}`,
      digits(figure.new),
      `${figure.ratio.toFixed(2)} x`,
      `± ${percents(figure.noise)}`,
      wordFor(figure),
    ]);
    lines.push(table(['', 'then', 'now', 'costs', 'noise', 'verdict'], rows));
  }
  if (unmatched.length > 0) lines.push(`only in one of the two: ${unmatched.join('; ')}`);
  if (changed.some(({ baseline }) => baseline)) {
    lines.push('baselines changed, which no build of kvidx touches: the machine is not as it was');
  }
  lines.push(summary(ours(figures), ours(changed)));
  return lines.join('\n');
}

function summary(figures: readonly ComparedFigure[], changed: readonly ComparedFigure[]): string {
  if (figures.length === 0) return 'nothing to compare: no figure stands in both';
  if (changed.length === 0)
    return `no change: none of ${counted(figures.length, 'figure')} moved by more than the noise`;
  const worse = changed.filter((figure) => figure.verdict === 'worse').length;
  const told = [
    ...(worse > 0 ? [`${worse} worse`] : []),
    ...(worse < changed.length ? [`${changed.length - worse} better`] : []),
  ];
  return `CHANGED: ${told.join(' and ')}, of ${counted(figures.length, 'figure')}`;
}

function wordFor({ verdict, unit, baseline }: ComparedFigure): string {
  if (verdict === 'no change') return baseline ? `${verdict} (baseline)` : verdict;
  if (baseline) return 'the machine';
  if (unit.startsWith('bytes')) return verdict === 'worse' ? 'larger' : 'smaller';
  return verdict === 'worse' ? 'slower' : 'faster';
}

function verdict(figure: ReportFigure): string {
  return figure.target ? `${bounds(figure.target)} ${meets(figure) ? 'met' : 'missed'}` : '';
}
