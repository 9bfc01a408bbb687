/** Both backends route every request to the same worker, under every policy. */
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { ApcRow } from '../../src/analysis/request-log.js';
import { findAddon } from '../../src/native/load.js';
import { policyKinds } from '../../src/routing/policy/registry.js';
import { TraceReader } from '../../src/trace/trace-reader.js';
import { root } from '../cli/support.js';
import { realTrace } from '../trace/support.js';

const POLICIES = [
  'kv-aware',
  'kv-aware:overlap=prefix:alpha=0.5',
  'kv-aware:overlap=set:k=200',
  'kv-aware:overlap=exclusive',
  'kv-aware:overlap=exclusive:m=8',
  'kv-aware:overlap=fair:k=200:by=work',
  'kv-aware:overlap=fair:k=50:floorScope=session',
  'lpwl',
  'lpwl-kappa',
  'lmetric',
  'load-only',
  'sticky',
  'unified',
  'unified:hitShare=0.9',
  'round-robin',
  'random',
  'random:seed=7',
];
const WORKERS = 5;
/** The reference backend takes some milliseconds a decision. */
const TIMEOUT_MS = 300_000;

const built = 'addon' in findAddon('kvidx');
if (!built) console.warn('The backends are not compared: no addon is built (npm run build:native).');

afterAll(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

async function firstRows(path: string, requests: number): Promise<ApcRow[]> {
  const rows: ApcRow[] = [];
  for await (const row of new TraceReader(path)) if (rows.push(row) === requests) break;
  return rows;
}

/** Worker names in order, by policy, of all modules loaded anew with this backend. */
async function decisionsOn(backend: 'native' | 'wasm', rows: ApcRow[], blockSize: number) {
  vi.stubEnv('KVIDX_BACKEND', backend);
  vi.resetModules();
  const native = await import('../../src/native/index.js');
  expect(native.backend().name).toBe(backend);
  const { simulateSequential } = await import('../../src/sim/sequential.js');
  const decisions = new Map(POLICIES.map((policy): [string, string[]] => [policy, []]));
  await simulateSequential(() => rows, {
    workers: WORKERS,
    policies: POLICIES,
    blockSize,
    onDecision: (policy, { worker, cachedTokens }) =>
      decisions.get(policy)!.push(`${worker} ${cachedTokens}`),
  });
  return decisions;
}

it('all kinds of policies are among those that are compared', () => {
  const kinds = new Set(POLICIES.map((policy) => policy.split(':')[0]));
  expect(kinds).toEqual(new Set(policyKinds.map(({ name }) => name)));
});

describe.runIf(built).each([
  ['examples/agentic-mini', `${root}examples/agentic-mini.jsonl.gz`, 64, 150],
  ['agentic-48', realTrace('agentic-48'), 64, 500],
  ['mooncake-conversation', realTrace('mooncake-conversation'), 512, 500],
])('%s', (name, path, blockSize, requests) => {
  const suffix = path === undefined ? ` (skipped: there is no ../shared/traces/${name}.jsonl.gz)` : '';

  const test = it.skipIf(path === undefined);

  test(`goes to the same workers on both backends${suffix}`, { timeout: TIMEOUT_MS }, async () => {
    const rows = await firstRows(path!, requests);
    expect(rows).toHaveLength(requests);
    const native = await decisionsOn('native', rows, blockSize);
    const reference = await decisionsOn('wasm', rows, blockSize);
    for (const policy of POLICIES) {
      expect(native.get(policy), policy).toHaveLength(requests);
      expect(native.get(policy), policy).toEqual(reference.get(policy));
    }
  });
});
