/** Sequential routing of real traces, against what an independent program computed. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { simulateSequential } from '../../src/sim/sequential.js';
import type { Simulation } from '../../src/sim/types.js';
import { TraceReader } from '../../src/trace/trace-reader.js';
import { realTrace } from '../trace/support.js';

interface Expected {
  readonly trace: string;
  readonly block_size: number;
  readonly workers: number;
  readonly policy: string;
  readonly requests_per_worker: number[];
  readonly new_tokens_per_worker: number[];
  readonly cached_tokens: number;
  readonly apc: number;
}

const ROWS_EXPECTED = 27;
const TRACES = [
  ['agentic-48', 3],
  ['mooncake-conversation', 3],
  ['mooncake-conversation', 8],
] as const;

function expectedRows(): Expected[] {
  const file = new URL('../../../shared/expected/sequential-routing.json', import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).rows;
}

/** One run for all policies of a trace and a number of workers. */
const runs = new Map<string, Promise<Simulation>>();

function simulate(rows: readonly Expected[]): Promise<Simulation> {
  const { trace, workers } = rows[0]!;
  const key = `${trace} ${workers}`;
  const run =
    runs.get(key) ??
    simulateSequential(() => new TraceReader(realTrace(trace)!), {
      trace,
      workers,
      policies: rows.map(({ policy }) => policy),
    });
  runs.set(key, run);
  return run;
}

test.skipIf(realTrace('agentic-48') === undefined)(
  'every expected row is among those that are tested',
  () => {
    const tested = expectedRows().filter((row) =>
      TRACES.some(([trace, workers]) => row.trace === trace && row.workers === workers),
    );
    expect(tested).toHaveLength(ROWS_EXPECTED);
    expect(expectedRows()).toHaveLength(ROWS_EXPECTED);
  },
);

describe.each(TRACES)('%s on %i workers', (name, workers) => {
  const here = realTrace(name) !== undefined;
  const suffix = here ? '' : ` (skipped: there is no ../shared/traces/${name}.jsonl.gz)`;
  const rows = here ? expectedRows().filter((row) => row.trace === name && row.workers === workers) : [];

  test.skipIf(!here)(`is read with the expected block size${suffix}`, async () => {
    const { result } = await simulate(rows);
    expect(result).toMatchObject({ trace: name, block_size: rows[0]!.block_size, workers });
    expect(result.rows.map(({ policy }) => policy)).toEqual(rows.map(({ policy }) => policy));
  });

  test.each(rows.map((row) => [row.policy, row] as const))(
    '%s routes exactly as expected',
    async (policy, row) => {
      const { result } = await simulate(rows);
      const { trace, block_size, workers, ...figures } = row;
      expect(result.rows.find((each) => each.policy === policy)).toMatchObject(figures);
    },
  );
});
