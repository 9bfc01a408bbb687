import { readFileSync } from 'node:fs';
import type { BenchReport } from '../../bench/report.js';
import { CliError } from './cli-error.js';

/** A report that `--out` wrote. Throws CliError. */
export function readReport(file: string): BenchReport {
  let report: Partial<BenchReport>;
  try {
    report = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CliError(`${file}: ${code === 'ENOENT' ? 'no such file' : message}`);
  }
  if (!isReport(report)) {
    throw new CliError(
      `${file}: this is not what "kvidx bench --out" of this version writes; measure again with --out`,
    );
  }
  return report;
}

function isReport(report: Partial<BenchReport> | null): report is BenchReport {
  return (
    typeof report?.date === 'string' &&
    typeof report.cpu === 'string' &&
    typeof report.quick === 'boolean' &&
    Array.isArray(report.scenarios) &&
    report.scenarios.every(
      ({ scenario, figures }) =>
        typeof scenario === 'string' &&
        Array.isArray(figures) &&
        figures.every(
          ({ value, better, bests }) => typeof value === 'number' && (!better || Array.isArray(bests)),
        ),
    )
  );
}
