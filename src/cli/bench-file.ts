import { readFileSync } from 'node:fs';
import type { BenchReport } from '../../bench/report.js';
import { CliError } from './cli-error.js';

/** A report that `--out` wrote. Throws CliError. */
export function readReport(file: string): BenchReport {
  let report: unknown;
  try {
    report = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!(error instanceof SyntaxError))
      throw new CliError(`${file}: ${code === 'ENOENT' ? 'no such file' : message}`);
  }
  if (!isReport(report)) {
    throw new CliError(
      `${file}: this is not what "kvidx bench --out" of this version writes; measure again with --out`,
    );
  }
  return report;
}

function isReport(report: unknown): report is BenchReport {
  return (
    isObject(report) &&
    ['date', 'cpu', 'node', 'kvidx', 'backend', 'isa'].every((key) => isText(report[key])) &&
    ['cores', 'blockSize', 'launches'].every((key) => Number.isFinite(report[key])) &&
    typeof report.quick === 'boolean' &&
    isList(report.scenarios, isScenario)
  );
}

function isScenario(scenario: unknown): boolean {
  return (
    isObject(scenario) &&
    isText(scenario.scenario) &&
    isText(scenario.description) &&
    isList(scenario.checks, isText) &&
    isList(scenario.notes, isText) &&
    isList(scenario.figures, isFigure)
  );
}

function isFigure(figure: unknown): boolean {
  if (!isObject(figure)) return false;
  const { name, unit, value, margin, launches, better, bests, range, target, latency } = figure;
  return (
    isText(name) &&
    isText(unit) &&
    Number.isFinite(value) &&
    Number.isFinite(margin) &&
    isNumbers(launches) &&
    (better === undefined || ((better === 'lower' || better === 'higher') && isNumbers(bests))) &&
    (range === undefined || (isNumbers(range) && range.length === 2)) &&
    (target === undefined || isObject(target)) &&
    (latency === undefined || isLatency(latency))
  );
}

function isLatency(latency: unknown): boolean {
  if (!isObject(latency) || !isObject(latency.histogram)) return false;
  const { edges, counts } = latency.histogram;
  return (
    isNumbers(['p50', 'p90', 'p99'].map((key) => latency[key])) &&
    isNumbers(edges) &&
    isNumbers(counts) &&
    edges.length === counts.length + 1
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isList(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

/** At least one. What JSON has no number for (NaN) it writes as null. */
function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every(Number.isFinite);
}
