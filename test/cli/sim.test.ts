import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { policyKinds } from '../../src/routing/policy/registry.js';
import type { SimResult } from '../../src/sim/types.js';
import { compiledCli, root } from './support.js';

const kvidx = compiledCli();
const folder = mkdtempSync(join(tmpdir(), 'kvidx-sim-'));
afterAll(() => rmSync(folder, { recursive: true }));
const example = 'examples/agentic-mini.jsonl.gz';
const exampleText = gunzipSync(readFileSync(join(root, example)));

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** Rows of blocks of 10 tokens. */
function trace(name: string, requests: readonly [ids: number[], session?: string][]): string {
  const rows = requests.map(([ids, session], i) =>
    JSON.stringify({ timestamp: i, input_length: ids.length * 10, hash_ids: ids, session_id: session }),
  );
  return file(name, `${rows.join('\n')}\n`);
}

describe('kvidx sim', () => {
  it('prints a table with a row a policy and every definition, and nothing else on standard error', async () => {
    const { code, stdout, stderr } = await kvidx(['sim', example]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const words of [
      'on 3 workers, sequential clock',
      '694',
      '64 tokens',
      'inferred; ids = ⌊input_length ÷ size⌋',
      'hit rate: Σ cached tokens ÷ Σ input tokens',
      'of bound: hit rate ÷ bound',
      'balance: the most requests of a worker ÷ their mean',
      'work balance: the same of new tokens',
    ]) {
      expect(stdout).toContain(words);
    }
    expect(stdout).toMatch(
      /│ kv-aware:overlap=fair:k=200:by=work +│ +\d\d\.\d\d % │ +\d\d\.\d\d % │ +1\.\d\d │ +1\.\d\d │ \d+ \/ \d+ \/ \d+ +│/,
    );
    expect(stdout).toMatch(/│ round-robin +│ .* │ +1\.00 │ +1\.\d\d │ 232 \/ 231 \/ 231 +│/);
  });

  it('prints one JSON object with --json, and the convention on standard error', async () => {
    const policies = 'kv-aware:overlap=fair:k=200:by=work,random:seed=3';
    const { code, stdout, stderr } = await kvidx([
      'sim',
      example,
      '--json',
      '--workers',
      '4',
      '--policies',
      policies,
    ]);
    expect(code).toBe(0);
    const result: SimResult = JSON.parse(stdout);
    expect(result).toMatchObject({ trace: example, block_size: 64, workers: 4 });
    expect(result.rows.map(({ policy }) => policy)).toEqual(policies.split(','));
    for (const row of result.rows) {
      expect(row.requests_per_worker.reduce((a, b) => a + b)).toBe(694);
      expect(row.new_tokens_per_worker.reduce((a, b) => a + b) + row.cached_tokens).toBe(
        row.tokens_per_worker.reduce((a, b) => a + b),
      );
    }
    expect(stderr).toMatch(/^kvidx: block size 64: inferred; .*floor.* in every row\n$/);
  });

  it('gives the bound of kvidx apc: one worker reaches all of it', async () => {
    const one = await kvidx(['sim', example, '--workers', '1', '--policies', 'lpwl', '--json']);
    const apc = await kvidx(['apc', example, '--json']);
    const { rows }: SimResult = JSON.parse(one.stdout);
    expect(rows[0]).toMatchObject({ share_of_bound: 1, apc: JSON.parse(apc.stdout).apc_upper_any_session });
  });

  it('answers the same again', async () => {
    const args = ['sim', example, '--json', '--policies', 'random:seed=9,lpwl'];
    expect((await kvidx(args)).stdout).toBe((await kvidx(args)).stdout);
  });

  it('takes spaces around the policies', async () => {
    const { stdout } = await kvidx(['sim', example, '--json', '--policies', ' lpwl, sticky ']);
    expect(JSON.parse(stdout).rows.map(({ policy }: { policy: string }) => policy)).toEqual([
      'lpwl',
      'sticky',
    ]);
  });

  it('reads standard input, plain or gzip, though it needs the rows twice', async () => {
    const packed = readFileSync(join(root, example));
    const plain = await kvidx(['sim', '-', '--json'], { input: exampleText });
    expect(JSON.parse(plain.stdout)).toMatchObject({ trace: '-', block_size: 64 });
    expect((await kvidx(['sim', '-', '--json'], { input: packed })).stdout).toBe(plain.stdout);
    const { rows } = JSON.parse((await kvidx(['sim', example, '--json'])).stdout);
    expect(JSON.parse(plain.stdout).rows).toEqual(rows);
  });

  it.skipIf(process.platform === 'win32')('reads a named pipe, which gives its rows only once', async () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const [run] = await Promise.all([
      kvidx(['sim', pipe, '--json']),
      import('node:fs/promises').then(({ writeFile }) => writeFile(pipe, exampleText)),
    ]);
    expect(run.code).toBe(0);
    expect(JSON.parse(run.stdout)).toMatchObject({ trace: pipe, block_size: 64 });
  });

  it('shows of many workers the least and the most requests', async () => {
    const { stdout } = await kvidx(['sim', example, '--workers', '40', '--policies', 'round-robin']);
    expect(stdout).toMatch(/│ round-robin .* │ 17 … 18 +│/);
  });

  it('says why workers are left out where load is always 0', async () => {
    const { stdout } = await kvidx(['sim', example, '--policies', 'sticky,load-only,round-robin']);
    expect(stdout).toMatch(/│ sticky .* │ 694 \/ 0 \/ 0 +│/);
    expect(stdout).toMatch(/Workers left out, or nearly so, by sticky, load-only:\n.*load is always 0/);
    for (const { name, spreadsBy } of policyKinds) {
      const listed = new RegExp(`spreads by load alone \\(.*\\b${name}[,)]`).test(stdout);
      expect(listed, name).toBe(spreadsBy === 'load');
    }
  });

  it('says why workers are left out where boilerplate counts', async () => {
    const boilerplate = trace(
      'boilerplate.jsonl',
      Array.from({ length: 20 }, (_, i) => [[1, 2, 3, 100 + i], `s${i}`]),
    );
    const policies = 'kv-aware,kv-aware:overlap=exclusive,kv-aware:k=200';
    const { stdout } = await kvidx(['sim', boilerplate, '--block-size', '10', '--policies', policies]);
    expect(stdout).toMatch(/Workers left out, or nearly so, by kv-aware:\n.*attracts them all/);
    expect(stdout).not.toContain('load is always 0');
  });

  it('says that there are fewer sessions than workers rather than blame a policy', async () => {
    const one = trace('one-session.jsonl', [
      [[1], 'a'],
      [[1, 2], 'a'],
      [[1, 2, 3], 'a'],
    ]);
    const { stdout } = await kvidx(['sim', one, '--block-size', '10', '--policies', 'kv-aware,sticky']);
    expect(stdout).toMatch(
      /left out, or nearly so, by kv-aware, sticky:\n.*fewer sessions than there are workers/,
    );
    expect(stdout).not.toMatch(/attracts|load is always 0/);
  });

  it('says so where no session is named and where there is nothing to reach', async () => {
    const nothing = trace('nothing.jsonl', [[[1]], [[2]], [[3]]]);
    const table = await kvidx(['sim', nothing, '--block-size', '10', '--policies', 'round-robin']);
    expect(table.stdout).toMatch(/│ sessions +│ +unknown │/);
    expect(table.stdout).toMatch(/│ round-robin │ +0\.00 % │ +│ +1\.00 │/);
    const json = await kvidx(['sim', nothing, '--block-size', '10', '--json']);
    expect(json.stderr).toContain('names no sessions');
    expect(JSON.parse(json.stdout).rows[0]).toMatchObject({ apc: 0, share_of_bound: null });
  });

  it('writes the JSON object to a file with --out, beside the table or the object', async () => {
    const out = join(folder, 'out.json');
    const table = await kvidx(['sim', example, '--out', out]);
    expect(table.stdout).toContain('hit rate');
    const written = readFileSync(out, 'utf8');
    expect(JSON.parse(written)).toMatchObject({ trace: example, workers: 3 });
    expect((await kvidx(['sim', example, '--out', out, '--json'])).stdout).toBe(written);
  });

  it('prints its result also when the file cannot be written', async () => {
    const { code, stdout, stderr } = await kvidx(['sim', example, '--out', '/nonexistent/out.json']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('hit rate') });
    expect(stderr).toMatch(/^kvidx: cannot write .*out\.json/);
  });

  it('leaves bad rows out of both passes with --on-error skip, and counts them once', async () => {
    const path = file('bad-rows.jsonl', `oops\n${exampleText}{"hash_ids":[1]}\n`);
    const { code, stdout, stderr } = await kvidx(['sim', path, '--on-error', 'skip', '--json']);
    expect(code).toBe(0);
    const { rows } = JSON.parse((await kvidx(['sim', example, '--json'])).stdout);
    expect(JSON.parse(stdout).rows).toEqual(rows);
    expect(stderr).toContain(`kvidx: 2 bad rows were left out; the first: ${path}:1: no JSON object`);
  });

  it('lists every policy and its options in its help', async () => {
    const { code, stdout, stderr } = await kvidx(['sim', '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/Examples:\n {2}\$ kvidx sim/);
    expect(stdout).toContain('kept in memory');
    expect(stdout).toMatch(/k \(loadFloor\) counts blocks: .* depends on the block size of the trace/);
    for (const { name, options } of policyKinds) {
      expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'));
      for (const option of options) expect(stdout).toMatch(new RegExp(`^ {4}.*\\b${option.name} `, 'm'));
    }
  });

  it.each([
    [['sim'], /missing required argument 'trace'/],
    [['sim', 'a', 'b'], /too many arguments/],
    [['sim', 'none', '--clock', 'wall'], /--clock.*sequential/],
    [['sim', 'none', '--workers', '0'], /--workers.*integer from 1 to 1024/],
    [['sim', 'none', '--workers', '1025'], /--workers.*integer from 1 to 1024/],
    [['sim', 'none', '--workers', 'x'], /--workers.*integer from 1/],
    [['sim', 'none', '--block-size', '4097'], /--block-size.*integer from 1 to 4096/],
    [['sim', 'none', '--policies', 'lpwl,kv-awere'], /--policies.*did you mean kv-aware\?/],
    [['sim', 'none', '--policies', 'kv-aware:overlp=fair'], /--policies.*did you mean overlap\?/],
    [['sim', 'none', '--policies', 'kv-aware:overlap=fare'], /--policies.*did you mean fair\?/],
    [['sim', 'none', '--policies', 'kv-aware:k=-1'], /--policies.*a number from 0/],
    [['sim', 'none', '--policies', 'random:seed=0.5'], /--policies.*an integer from 0/],
    ...['', ',', 'lpwl,', ',lpwl', 'lpwl, ,sticky'].map((policies): [string[], RegExp] => [
      ['sim', 'none', '--policies', policies],
      /--policies.*An empty policy was given: commas stand between/,
    ]),
    [['sim', 'none', '--on-error', 'ignore'], /--on-error.*fail, skip/],
  ])('exits with 2 when used as %j, before the trace is looked for', async (args, message) => {
    const { code, stdout, stderr } = await kvidx(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it.each([
    ['no such file', () => '/nonexistent/trace.jsonl', /^kvidx: \/nonexistent\/trace.jsonl: no such file\n$/],
    ['a directory', () => folder, /directory/],
    ['an empty file', () => file('empty.jsonl', ''), /empty/],
    ['a bad row', () => file('bad.jsonl', `${exampleText}oops\n`), /bad\.jsonl:695: .*\n.*--on-error skip/],
    [
      'several block sizes',
      () => file('one.jsonl', '{"input_length":1000,"hash_ids":[1,2]}'),
      /--block-size/,
    ],
  ])('exits with 1 for %s', async (_, path, message) => {
    const { code, stdout, stderr } = await kvidx(['sim', path()]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });
});
