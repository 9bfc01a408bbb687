import { basename } from 'node:path';
import { type CatalogueEntry, catalogue, chosenScenarios } from '../../bench/catalogue.js';
import { type Comparison, compareReports, confirmed } from '../../bench/compare.js';
import type { ScenarioResult } from '../../bench/harness.js';
import { thisMachine } from '../../bench/machine.js';
import { type BenchReport, mergeLaunches, type ScenarioReport } from '../../bench/report.js';
import { SLOWDOWN } from '../../bench/slowdown.js';
import type { BenchFlags } from './bench.js';
import { readReport } from './bench-file.js';
import { launchAll } from './bench-launches.js';
import { comparisonText, machineLine, scenarioText, targetsText } from './bench-tables.js';
import { CliError } from './cli-error.js';
import { checkWritable, writeThenPrint } from './out-file.js';

const LAUNCHES = 3;

export async function runBench(names: string[], flags: BenchFlags): Promise<void> {
  if (flags.list) return list(names);
  const { json, out, trace, from, compare, plot } = flags;
  const old = compare === undefined ? undefined : readReport(compare);
  for (const file of [out, plot]) if (file !== undefined) checkWritable(file);
  if (trace !== undefined) await checkTrace(trace);
  // Nobody reads on: go on only for a file.
  if (out === undefined && plot === undefined) process.stdout.once('error', () => process.exit());

  const { report, comparison } =
    from === undefined ? await measure(names, flags, old) : stored(from, names, flags, old);
  const text = `${JSON.stringify({ ...report, ...(comparison && { comparison }) }, undefined, 2)}\n`;
  try {
    if (plot !== undefined)
      writeThenPrint(plot, (await import('./bench-plot/page.js')).benchPage(report), '');
  } finally {
    writeThenPrint(out, text, json ? text : `${shown(report, comparison)}\n`); // what took minutes is not lost
  }
}

function shown(report: BenchReport, comparison: Comparison | undefined): string {
  const parts = [machineLine(report), ...report.scenarios.map(scenarioText)];
  const targets = targetsText(report);
  if (targets) parts.push(targets);
  if (comparison) parts.push(comparisonText(comparison));
  return parts.join('\n\n');
}

interface Measured {
  readonly report: BenchReport;
  readonly comparison: Comparison | undefined;
}

async function measure(names: string[], flags: BenchFlags, old: BenchReport | undefined): Promise<Measured> {
  const { quick = false, trace, launches = LAUNCHES, filter } = flags;
  const machine = thisMachine();
  if (old !== undefined && old.quick !== quick) {
    throw new CliError(
      `--compare: that run was ${old.quick ? 'a quick one: add --quick' : 'no quick one: leave --quick out'}`,
    );
  }
  const goesOn = ({ figures }: ScenarioResult) => figures.some(({ name }) => passes(name, filter));
  const results = await launchAll(chosenScenarios(names), {
    launches,
    quick,
    trace,
    label: 'measuring',
    goesOn,
  });
  const reportOf = (found: ReadonlyMap<CatalogueEntry, ScenarioResult[]>): BenchReport =>
    filtered(
      {
        ...machine,
        date: new Date().toISOString(),
        quick,
        launches,
        command: commandOf(names, flags),
        ...(trace !== undefined && { trace: basename(trace) }),
        ...(SLOWDOWN !== 1 && { slowdown: SLOWDOWN }),
        scenarios: merged(found),
      },
      filter,
    );

  const report = reportOf(results);
  if (old === undefined) return { report, comparison: undefined };
  const comparison = compareReports(report, through(old, filter));
  const changed = new Set(
    comparison.figures.filter(({ verdict }) => verdict !== 'no change').map(({ scenario }) => scenario),
  );
  if (changed.size === 0) return { report, comparison };
  const again = [...results.keys()].filter(({ name }) => changed.has(name));
  const more = await launchAll(again, { launches, quick, trace, label: 'once more, since it changed' });
  const second = compareReports(reportOf(more), through(old, filter));
  for (const [entry, each] of more) results.get(entry)!.push(...each);
  return { report: reportOf(results), comparison: confirmed(comparison, second) };
}

/** The flags that figures depend on. */
function commandOf(names: readonly string[], { quick, launches, filter, trace }: BenchFlags): string {
  const words = ['kvidx bench', ...names];
  if (quick) words.push('--quick');
  if (launches !== undefined) words.push(`--launches ${launches}`);
  if (filter !== undefined) words.push(`--filter ${JSON.stringify(filter)}`);
  if (trace !== undefined) words.push(`--trace ${basename(trace)}`);
  return words.join(' ');
}

function stored(
  from: string,
  names: string[],
  { filter }: BenchFlags,
  old: BenchReport | undefined,
): Measured {
  const all = readReport(from);
  const scenarios = all.scenarios.filter(({ scenario }) => names.length === 0 || names.includes(scenario));
  const absent = names.filter((name) => !scenarios.some(({ scenario }) => scenario === name));
  if (absent.length > 0) throw new CliError(`--from: that run has no ${absent.join(', no ')}`);
  const report = filtered({ ...all, scenarios }, filter);
  if (old !== undefined && old.quick !== report.quick) {
    throw new CliError('--compare: one of the runs was a quick one, the other was not');
  }
  return { report, comparison: old && compareReports(report, through(old, filter)) };
}

function merged(results: ReadonlyMap<CatalogueEntry, ScenarioResult[]>): ScenarioReport[] {
  return [...results].map(([entry, launches]) => mergeLaunches(entry, launches));
}

/** Only the figures that `--filter` lets through. Throws CliError when there are none. */
function filtered(report: BenchReport, filter: string | undefined): BenchReport {
  const left = through(report, filter);
  if (left.scenarios.length === 0) {
    throw new CliError(`--filter ${filter}: no figure of this run has that in its name`);
  }
  return left;
}

function through(report: BenchReport, filter: string | undefined): BenchReport {
  if (filter === undefined) return report;
  const scenarios = report.scenarios
    .map((each) => ({ ...each, figures: each.figures.filter(({ name }) => passes(name, filter)) }))
    .filter(({ figures }) => figures.length > 0);
  return { ...report, scenarios };
}

function passes(name: string, filter: string | undefined): boolean {
  return filter === undefined || name.toLowerCase().includes(filter.toLowerCase());
}

function list(names: readonly string[]): void {
  for (const { name, description, onlyByName } of names.length === 0 ? catalogue : chosenScenarios(names)) {
    console.log(`${name.padEnd(10)}${description}${onlyByName ? ' (only when named)' : ''}`);
  }
}

/** Before minutes go by: is it a trace? Throws ERR_KVIDX_BAD_TRACE. */
async function checkTrace(path: string): Promise<void> {
  const { TraceReader } = await import('../trace/trace-reader.js'); // loads a backend, which may be missing
  for await (const _ of new TraceReader(path)) return;
}
