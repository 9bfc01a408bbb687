import type { Figure } from '../../bench/figures.js';
import { type BenchReport, mergeLaunches } from '../../bench/report.js';

/** A report whose one scenario found these figures, launch by launch. */
export function reportOf(...launches: Figure[][]): BenchReport {
  return {
    kvidx: '1.0.0',
    node: '20.0.0',
    cpu: 'a processor',
    cores: 2,
    backend: 'native',
    isa: 'avx512',
    blockSize: 24,
    date: '2026-01-01T00:00:00.000Z',
    quick: false,
    launches: launches.length,
    command: 'kvidx bench hash',
    scenarios: [
      mergeLaunches(
        { description: 'what it is about' },
        launches.map((figures) => ({ scenario: 'hash', quick: false, checks: [], notes: [], figures })),
      ),
    ],
  };
}

/** Launches that found these times of one figure. */
export function timesOf(times: readonly number[], more: Partial<Figure> = {}): BenchReport {
  return reportOf(
    ...times.map((value): Figure[] => [
      { name: 'native', unit: 'ns/block', value, better: 'lower', ...more },
    ]),
  );
}
