/** Behaviours of trace tools that break in the field, each with its right answer. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { analyzeApc, TraceReader, type TraceRow } from '../../src/index.js';

const root = join(import.meta.dirname, '..', '..');
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kvidx-cases-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A trace file of these lines; objects become Mooncake rows. */
async function trace(name: string, ...lines: (object | string)[]): Promise<string> {
  const path = join(folder, name);
  await writeFile(
    path,
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  );
  return path;
}

function request(input_length: number, hash_ids: number[]) {
  return { timestamp: 0, input_length, output_length: 1, hash_ids };
}

async function rowsOf(path: string): Promise<TraceRow[]> {
  const rows: TraceRow[] = [];
  for await (const row of new TraceReader(path)) rows.push(row);
  return rows;
}

test('a partial last block with an id is told from one without, and the convention is named', async () => {
  const ceil = await trace(
    'ceil.jsonl',
    request(10, [1, 2, 3]),
    request(9, [1, 2, 3]),
    request(12, [1, 2, 3]),
  );
  expect((await analyzeApc(new TraceReader(ceil))).blockSize).toMatchObject({
    blockSize: 4,
    convention: 'ceil',
  });
  const floor = await trace('floor.jsonl', request(15, [1, 2, 3]), request(12, [1, 2, 3]), request(3, []));
  expect((await analyzeApc(new TraceReader(floor))).blockSize).toMatchObject({
    blockSize: 4,
    convention: 'floor',
  });
});

test('a hit on a partial last block counts the tokens that the request has', async () => {
  const path = await trace(
    'partial.jsonl',
    request(10, [1, 2, 3]),
    request(10, [1, 2, 3]),
    request(9, [7, 8, 9]),
  );
  const { result } = await analyzeApc(new TraceReader(path), { blockSize: 4 });
  expect(result.cached_tokens_any_session).toBe(10);
});

test('a given block size is verified against input_length', async () => {
  const path = await trace(
    'given.jsonl',
    request(10, [1, 2, 3]),
    request(9, [1, 2, 3]),
    request(40, [1, 2, 3]),
  );
  const { blockSize } = await analyzeApc(new TraceReader(path), { blockSize: 4 });
  expect(blockSize).toMatchObject({ contradictingRows: 1, firstContradictingLine: 3 });
  await expect(analyzeApc(new TraceReader(path), { blockSize: 512 })).rejects.toThrow(
    expect.objectContaining({
      code: 'ERR_KVIDX_BAD_TRACE',
      message: expect.stringMatching(/512 contradicts/),
    }),
  );
});

test('the bound is weighted by tokens, not the mean of the requests’ ratios', async () => {
  const path = await trace(
    'weights.jsonl',
    request(4, [1]),
    request(4, [1]),
    request(
      400,
      Array.from({ length: 100 }, (_, i) => i + 1000),
    ),
  );
  const { result } = await analyzeApc(new TraceReader(path), { blockSize: 4 });
  expect(result.apc_upper_any_session).toBe(4 / 408);
  expect(result.per_request_mean_any).toBeCloseTo(1 / 3);
});

test('a malformed row is named by file and line, or left out and counted', async () => {
  const path = await trace(
    'bad.jsonl',
    request(4, [1]),
    '{"input_length": 4, "hash_ids": [1',
    request(4, [1]),
  );
  await expect(rowsOf(path)).rejects.toThrow(
    expect.objectContaining({
      code: 'ERR_KVIDX_BAD_TRACE',
      message: expect.stringContaining(`${path}:2: `),
    }),
  );
  const reader = new TraceReader(path, { onError: 'skip' });
  expect((await analyzeApc(reader, { blockSize: 4 })).result.n_requests).toBe(2);
  expect(reader.skipped).toBe(1);
});

test('fractional timestamps keep their fraction', async () => {
  const path = await trace('times.jsonl', { ...request(4, [1]), timestamp: 1234.5678 });
  expect((await rowsOf(path))[0]!.timestampMs).toBe(1234.5678);
  const chat = { chat_id: 1, parent_chat_id: -1, timestamp: 0.0125, input_length: 4, hash_ids: [1] };
  const hybrid = await trace('chats.jsonl', chat);
  expect((await rowsOf(hybrid))[0]!.timestampMs).toBeCloseTo(12.5, 9);
});

test('missing timestamps are fine for an analysis that needs only the order', async () => {
  const path = await trace(
    'timeless.jsonl',
    '{"input_length":4,"hash_ids":[1]}',
    '{"input_length":4,"hash_ids":[1]}',
  );
  const { result } = await analyzeApc(new TraceReader(path), { blockSize: 4 });
  expect(result.apc_upper_any_session).toBe(0.5);
  expect((await rowsOf(path))[0]!.timestampMs).toBeUndefined();
});

test('ids are exact beyond 2^53, and position matters', async () => {
  const rows = ['9007199254740992', '9007199254740993', '-1', '18446744073709551615'].map(
    (id) => `{"input_length":4,"hash_ids":[${id}]}`,
  );
  const path = await trace('ids.jsonl', ...rows, request(8, [1, 2]), request(8, [2, 1]));
  const { result } = await analyzeApc(new TraceReader(path), { blockSize: 4 });
  expect(result).toMatchObject({ unique_blocks: 7, cached_tokens_any_session: 4 });
});

test('an example is shipped, and the README says how to use it', async () => {
  const example = 'examples/agentic-mini.jsonl.gz';
  const { files } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  expect(files).toContain('examples');
  expect(await readFile(join(root, 'README.md'), 'utf8')).toContain(`npx kvidx apc ${example}`);
  const { result, blockSize } = await analyzeApc(new TraceReader(join(root, example)));
  expect(result.n_requests).toBeGreaterThan(100);
  expect(blockSize).toMatchObject({ inferred: true, contradictingRows: 0 });
});
