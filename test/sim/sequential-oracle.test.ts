/** Sequential routing of real traces, against what an independent program computed. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { backend } from '../../src/native/index.js';
import { simulateSequential } from '../../src/sim/sequential.js';
import type { SimResult } from '../../src/sim/types.js';
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
/** Over its 5 million blocks the reference backend takes minutes. */
const TOO_LONG_ON_REFERENCE = 'agentic-48';
const TIMEOUT_MS = 600_000;

function expectedRows(): Expected[] {
  const file = new URL('../../../shared/expected/sequential-routing.json', import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).rows;
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

/** Why the trace is not simulated; undefined: it is. */
function reasonToSkip(name: string): string | undefined {
  if (realTrace(name) === undefined) return `there is no ../shared/traces/${name}.jsonl.gz`;
  if (name === TOO_LONG_ON_REFERENCE && backend().name === 'wasm') return 'too long on the reference backend';
  return undefined;
}

describe.each(TRACES)('%s on %i workers', (name, workers) => {
  const reason = reasonToSkip(name);
  if (reason !== undefined) {
    test.skip(`routes exactly as expected (skipped: ${reason})`);
    return;
  }
  const rows = expectedRows().filter((row) => row.trace === name && row.workers === workers);
  let result: SimResult;

  beforeAll(async () => {
    const policies = rows.map(({ policy }) => policy);
    const options = { trace: name, workers, policies };
    ({ result } = await simulateSequential(() => new TraceReader(realTrace(name)!), options));
  }, TIMEOUT_MS);

  test('has the expected policies and block size', () => {
    expect(result).toMatchObject({ trace: name, block_size: rows[0]!.block_size, workers });
    expect(result.rows.map(({ policy }) => policy)).toEqual(rows.map(({ policy }) => policy));
  });

  test.each(rows.map((row) => [row.policy, row] as const))('%s routes exactly as expected', (policy, row) => {
    const { trace, block_size, workers, ...figures } = row;
    const actual = result.rows.find((each) => each.policy === policy)!;
    for (const [figure, value] of Object.entries(figures)) expect(actual).toHaveProperty(figure, value);
  });
});
