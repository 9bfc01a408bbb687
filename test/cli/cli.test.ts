import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { compiledCli, root } from './support.js';

const kvidx = compiledCli();
const folder = mkdtempSync(join(tmpdir(), 'kvidx-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));
const example = 'examples/agentic-mini.jsonl.gz';
const exampleText = gunzipSync(readFileSync(join(root, example)));

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe('kvidx', () => {
  it('says its version', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(await kvidx(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it.each([['--help'], ['apc', '--help'], ['synth', '--help'], ['bench', '--help']])(
    'shows an example in the help of %s %s',
    async (...args) => {
      const { code, stdout, stderr } = await kvidx(args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/Examples:\n {2}\$ kvidx/);
    },
  );

  it.each([
    [[], /Usage: kvidx/],
    [['frobnicate'], /unknown command 'frobnicate'/],
    [['apc'], /missing required argument 'trace'/],
    [['apc', 'a', 'b'], /too many arguments/],
    [['apc', example, '--nonsense'], /unknown option '--nonsense'/],
    [['apc', example, '--block-size', '0'], /--block-size.*integer from 1/],
    [['apc', example, '--block-size', '6.4'], /--block-size.*integer from 1/],
    [['apc', example, '--curve', '10,x'], /--curve.*auto/],
    [['apc', example, '--curve', ''], /--curve.*auto/],
    [['apc', example, '--curve', '7,'.repeat(1000) + 7], /--curve.*at most 1,000/],
    [['apc', example, '--kv-bytes-per-token', '-1'], /--kv-bytes-per-token/],
    [['apc', example, '--on-error', 'ignore'], /--on-error.*fail, skip/],
    [['synth', '--seed', 'x'], /--seed.*integer from 0/],
    [['synth', 'file'], /too many arguments/],
  ])('exits with 2 when used as %j', async (args, message) => {
    const { code, stdout, stderr } = await kvidx(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('does not mind a reader that has seen enough', async () => {
    const { code, stderr } = await kvidx(['synth', '--sessions', '100'], { stopReading: true });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});

describe('kvidx apc', () => {
  it('prints every figure with its definition, and nothing else on standard error', async () => {
    const { code, stdout, stderr } = await kvidx(['apc', example]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const words of [
      '694',
      '64 tokens',
      'inferred; ids = ⌊input_length ÷ size⌋',
      'any session',
      'intra session',
      'shared prefix only',
      'block-weighted',
      'mean per request',
      'full blocks only',
      'Σ hit blocks ÷ Σ blocks',
    ]) {
      expect(stdout).toContain(words);
    }
  });

  it('prints one JSON object with --json, and the convention on standard error', async () => {
    const { code, stdout, stderr } = await kvidx(['apc', example, '--json', '--curve', '100,100000']);
    const result = JSON.parse(stdout);
    expect(code).toBe(0);
    expect(result).toMatchObject({ trace: example, n_requests: 694, n_sessions: 40, block_size: 64 });
    expect(result.lru_curve['100000']).toBe(result.apc_upper_any_session);
    expect(stderr).toMatch(/^kvidx: block size 64: inferred; .*floor.* in every row\n$/);
  });

  it('writes the JSON object to a file with --out, beside the table or the object', async () => {
    const out = join(folder, 'out.json');
    const table = await kvidx(['apc', example, '--out', out]);
    expect(table.stdout).toContain('any session');
    const written = readFileSync(out, 'utf8');
    expect(JSON.parse(written)).toMatchObject({ n_requests: 694, lru_curve: null });
    expect((await kvidx(['apc', example, '--out', out, '--json'])).stdout).toBe(written);
  });

  it.each([
    ['apc', 'own'],
    ['apc', 'linked'],
    ['sim', 'own'],
    ['sim', 'linked'],
  ])('%s refuses to overwrite its trace by its %s name', async (command, name) => {
    const trace = file('trace.jsonl', exampleText);
    const linked = join(folder, `${command}-${name}.jsonl`);
    if (name === 'linked') symlinkSync(trace, linked);
    const { code, stdout, stderr } = await kvidx([
      command,
      trace,
      '--out',
      name === 'linked' ? linked : trace,
    ]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/--out .* is the trace itself/);
    expect(readFileSync(trace).equals(exampleText)).toBe(true);
  });

  it('takes as many cache sizes as its help says', async () => {
    const sizes = Array.from({ length: 1000 }, (_, i) => i + 1);
    const { code, stdout } = await kvidx(['apc', example, '--json', '--curve', sizes.join()]);
    expect(code).toBe(0);
    expect(Object.keys(JSON.parse(stdout).lru_curve)).toHaveLength(1000);
  });

  it('draws the curve, with sizes in GiB when bytes a token are given', async () => {
    const { stdout } = await kvidx(['apc', example, '--curve', 'auto', '--kv-bytes-per-token', '98304']);
    expect(stdout).toMatch(/│ 50,000 +│ +293\.0 GiB │ +\d\d\.\d\d % │ +[\d,]+ │ █+/);
    expect(stdout).toMatch(/never\s.*evicts.*GiB/s);
  });

  it('reads standard input, plain or gzip', async () => {
    const packed = readFileSync(join(root, example));
    const plain = await kvidx(['apc', '-', '--json'], { input: exampleText });
    expect(JSON.parse(plain.stdout)).toMatchObject({ trace: '-', n_requests: 694 });
    expect((await kvidx(['apc', '-', '--json'], { input: packed })).stdout).toBe(plain.stdout);
  });

  it('says that intra and shared figures are unknown where no session is named', async () => {
    const trace = file('mooncake.jsonl', '{"timestamp":0,"input_length":600,"hash_ids":[1,2]}\n'.repeat(2));
    const table = await kvidx(['apc', trace, '--block-size', '512']);
    expect(table.stdout).toContain('names no sessions');
    const json = await kvidx(['apc', trace, '--block-size', '512', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ n_sessions: null, apc_upper_intra_session: null });
    expect(json.stderr).toContain('names no sessions');
  });

  it('reports rows that contradict the given block size', async () => {
    const rows = [
      [128, '1,2'],
      [192, '1,2,3'],
      [64, '1,2'],
    ].map(([n, ids]) => `{"input_length":${n},"hash_ids":[${ids}]}`);
    const { code, stdout } = await kvidx([
      'apc',
      file('contradiction.jsonl', rows.join('\n')),
      '--block-size',
      '64',
    ]);
    expect(code).toBe(0);
    expect(stdout.replace(/\s*│\n│ +│ +│ /g, ' ')).toMatch(/except in 1 of 3 rows, first in line 3/);
  });

  it('leaves bad rows out with --on-error skip, and counts them', async () => {
    const trace = file('bad-rows.jsonl', `oops\n${exampleText}{"hash_ids":[1]}\n`);
    const { code, stdout, stderr } = await kvidx(['apc', trace, '--on-error', 'skip', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).n_requests).toBe(694);
    expect(stderr).toContain(`2 bad rows were left out; the first: ${trace}:1: no JSON object`);
    const one = file('bad-row.jsonl', `oops\n${exampleText}`);
    const { stderr: singular } = await kvidx(['apc', one, '--on-error', 'skip', '--json']);
    expect(singular).toContain('kvidx: 1 bad row was left out; ');
  });

  it.each([
    ['no such file', () => '/nonexistent/trace.jsonl', /^kvidx: \/nonexistent\/trace.jsonl: no such file\n$/],
    ['a directory', () => folder, /directory/],
    ['an empty file', () => file('empty.jsonl', ''), /empty/],
    [
      'gzip cut short',
      () => file('cut.gz', gzipSync(exampleText).subarray(0, 50_000)),
      /cut\.gz:\d+: the gzip data ends too early/,
    ],
    [
      'a bad row',
      () => file('bad.jsonl', `${exampleText}oops\n`),
      /bad\.jsonl:695: no JSON object.*\n.*--on-error skip/,
    ],
    [
      'several block sizes',
      () => file('one.jsonl', '{"input_length":1000,"hash_ids":[1,2]}'),
      /500 to 999.*--block-size/,
    ],
  ])('exits with 1 for %s', async (_, trace, message) => {
    const { code, stdout, stderr } = await kvidx(['apc', trace()]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('exits with 1 when most rows contradict the given block size, or the output cannot be written', async () => {
    const contradicted = await kvidx(['apc', example, '--block-size', '512']);
    expect(contradicted).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('694 of 694 rows'),
    });
    const unwritable = await kvidx(['apc', example, '--out', '/nonexistent/out.json']);
    expect(unwritable).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('any session'),
      stderr: expect.stringMatching(/^kvidx: cannot write .*out\.json/),
    });
    const json = await kvidx(['apc', example, '--json', '--out', '/nonexistent/out.json']);
    expect(json).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/\nkvidx: cannot write .*out\.json/),
    });
    expect(JSON.parse(json.stdout)).toMatchObject({ n_requests: 694 });
  });
});

describe('kvidx synth', () => {
  it('makes the bundled example by the command that its README states', async () => {
    const readme = readFileSync(join(root, 'examples/README.md'), 'utf8');
    const args = /npx kvidx (synth --seed .*) --out agentic-mini.jsonl.gz/.exec(readme)![1]!.split(' ');
    const out = join(folder, 'mini.jsonl.gz');
    expect(await kvidx([...args, '--out', out])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(gunzipSync(readFileSync(out)).equals(exampleText)).toBe(true);
    expect((await kvidx(args)).stdout).toBe(exampleText.toString());
  });

  it('writes plain text to a name without .gz, and says when it cannot', async () => {
    const out = join(folder, 'plain.jsonl');
    await kvidx(['synth', '--sessions', '1', '--turns', '2', '--out', out]);
    expect(readFileSync(out, 'utf8')).toMatch(/^\{"chat_id":1,/);
    const failed = await kvidx(['synth', '--out', '/nonexistent/out.jsonl.gz']);
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(/^kvidx: cannot write/) });
    expect(existsSync('/nonexistent')).toBe(false);
  });
});
