import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import type { BenchReport, ScenarioReport } from '../../bench/report.js';
import { findAddon } from '../../src/native/load.js';
import { compiledCli, root } from './support.js';

const kvidx = compiledCli();
const folder = mkdtempSync(join(tmpdir(), 'kvidx-bench-'));
afterAll(() => rmSync(folder, { recursive: true }));

const EXAMPLE = join(root, 'examples/agentic-mini.jsonl.gz');
const trace = join(folder, 'three.jsonl');
writeFileSync(
  trace,
  [[1], [1, 2], [1, 3]]
    .map(
      (ids) =>
        `${JSON.stringify({ timestamp: 0, input_length: 512 * ids.length, output_length: 1, hash_ids: ids })}\n`,
    )
    .join(''),
);

const badTrace = join(folder, 'bad.jsonl');
writeFileSync(badTrace, 'no trace\n');
const brokenTrace = join(folder, 'broken.jsonl');
writeFileSync(brokenTrace, `${readFileSync(trace, 'utf8')}no row\n`);

const addon = findAddon('kvidx');
const built = 'addon' in addon && 'addon' in findAddon('kvidx_bench');
if (!built)
  console.warn('The scenarios of kvidx bench are not tested: no addon is built (npm run build:native).');

describe('kvidx bench', () => {
  it('lists its scenarios', async () => {
    const { code, stdout } = await kvidx(['bench', '--list']);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^apc .*\nboundary .*\nevents .*\nexclusive .*\nhash .*\nindex .*\ningest .*\nmemory .*\nrouting .*\nsketch .*\nsoak .* \(only when named\)\n$/,
    );
  });

  it('exits with 2 when a scenario is unknown', async () => {
    const { code, stdout, stderr } = await kvidx(['bench', 'nonsense']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(
      /apc, boundary, events, exclusive, hash, index, ingest, memory, routing, sketch, soak/,
    );
  });

  it('exits with 2 when no scenario would replay the trace', async () => {
    const { code, stderr } = await kvidx(['bench', 'hash', 'index', '--trace', EXAMPLE]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/no trace is replayed by hash and index/);
  });

  it('exits with 2 when the result would overwrite the trace', async () => {
    const { code, stderr } = await kvidx(['bench', 'ingest', '--trace', EXAMPLE, '--out', EXAMPLE]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/--out .* is the file of --trace, which it would overwrite/);
  });

  it.each([
    ['missing', () => join(folder, 'missing.jsonl'), /^kvidx: .*missing\.jsonl: no such file\n$/],
    ['a directory', () => folder, /^kvidx: .*: this is a directory/],
    ['no trace', () => badTrace, /^kvidx: .*bad\.jsonl:1: .*\n$/],
  ])('says before anything runs that the trace is %s', async (_, path, message) => {
    const { code, stdout, stderr } = await kvidx(['bench', 'hash', 'sketch', '--quick', '--trace', path()]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it.each([
    [['--trace', ''], /--trace needs a file name/],
    [['--out', ''], /--out needs a file name/],
    [['--trace', '-'], /--trace takes a file/],
  ])('exits with 2 when used as %j', async (args, message) => {
    const { code, stdout, stderr } = await kvidx(['bench', 'ingest', ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it.runIf(built)(
    'prints the figures of every scenario as one JSON object, and writes the same',
    async () => {
      const out = join(folder, 'figures.json');
      const { code, stdout } = await kvidx(['bench', '--quick', '--launches', '1', '--json', '--out', out]);
      expect(code).toBe(0);
      expect(readFileSync(out, 'utf8')).toBe(stdout);
      const report: BenchReport = JSON.parse(stdout);
      expect(report.scenarios.map(({ scenario, quick }) => [scenario, quick])).toEqual([
        ['apc', true],
        ['boundary', true],
        ['events', true],
        ['exclusive', true],
        ['hash', true],
        ['index', true],
        ['ingest', true],
        ['memory', true],
        ['routing', true],
        ['sketch', true],
      ]);
      for (const { checks, figures } of report.scenarios) {
        expect(checks).not.toHaveLength(0);
        const none = new Set(['times that the core asked for memory', 'growth of the JavaScript heap']);
        for (const { name, value } of figures) {
          if (!none.has(name.replace(/^.* queries: /, ''))) expect(value, name).toBeGreaterThan(0);
        }
      }
    },
  );

  it.runIf(built)('prints a table of figures and targets', async () => {
    const { code, stdout } = await kvidx(['bench', 'hash', '--quick', '--launches', '1']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/xxhash-wasm ÷ scalar .* x /);
    expect(stdout).toMatch(
      /asserted: xxhash-wasm and each path, .* give the same seq hashes of 4 prompts of 2818 blocks: scalar/,
    );
  });

  it.runIf(built)('replays a trace on both backends, and asserts that they agree', async () => {
    const { code, stdout } = await kvidx(['bench', 'ingest', '--quick', '--launches', '1', '--trace', trace]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /asserted: three\.jsonl: both backends give equal overlaps and results for 3 requests/,
    );
    expect(stdout).toMatch(/store and own: reference ÷ native /);
    expect(stdout).toMatch(/unbounded slots: store ÷ without the machinery /);
  });

  it.runIf(built && process.platform === 'linux')('asks the allocator what an index takes', async () => {
    const { code, stdout } = await kvidx(['bench', 'memory', '--quick', '--launches', '1', '--json']);
    expect(code).toBe(0);
    const { figures, notes }: ScenarioReport = JSON.parse(stdout).scenarios[0];
    expect(notes).toEqual([]);
    const ratios = figures.filter(({ name }) => name.endsWith('allocator ÷ reserved'));
    expect(ratios.length).toBeGreaterThan(5);
    for (const { name, value } of ratios) expect(Math.abs(value - 1), name).toBeLessThan(0.05);
  });

  it.runIf(built)('times decisions that it asserts to be right, and counts their bytes', async () => {
    const { code, stdout } = await kvidx(['bench', 'routing', '--quick', '--launches', '1', '--json']);
    expect(code).toBe(0);
    const { checks, figures }: ScenarioReport = JSON.parse(stdout).scenarios[0];
    expect(checks[0]).toMatch(/each of 128 sessions goes to its own worker/);
    const growth = figures.filter(({ name }) => name.endsWith('heap, long ÷ short'));
    expect(growth).toHaveLength(3);
    for (const { name, value } of growth) expect(value, name).toBeLessThan(2);
  });

  it.runIf(built)('times kvidx apc against a plain program that finds the same', async () => {
    const { code, stdout } = await kvidx(['bench', 'apc', '--quick', '--launches', '1', '--json']);
    expect(code).toBe(0);
    const { checks, figures }: ScenarioReport = JSON.parse(stdout).scenarios[0];
    expect(checks).toEqual([
      expect.stringMatching(/^agentic-mini\.jsonl\.gz, 694 requests: both find the same n_requests, .*intra/),
    ]);
    expect(figures.filter(({ unit }) => unit === 'x').map(({ name }) => name)).toEqual([
      'whole command: plain JavaScript ÷ kvidx',
      'counting: plain JavaScript ÷ kvidx',
      'whole command: with --curve ÷ without',
    ]);
  });

  it.runIf(built)('times no kvidx apc of a trace whose block size is not certain', async () => {
    const { code, stdout } = await kvidx(['bench', 'apc', '--quick', '--trace', trace]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/nothing is timed: not exactly one block size fits every row of .*three\.jsonl/);
  });

  it.runIf(built)('times a call that does nothing, and calls that take arrays', async () => {
    const { code, stdout } = await kvidx(['bench', 'boundary', '--quick', '--launches', '1', '--json']);
    expect(code).toBe(0);
    const { figures }: ScenarioReport = JSON.parse(stdout).scenarios[0];
    expect(figures.filter(({ unit }) => unit === 'ns/call').map(({ name }) => name)).toEqual(
      expect.arrayContaining(['an empty JavaScript call', 'an empty native call', 'two typed arrays']),
    );
  });

  it.runIf(built)('follows an engine that both followers agree with', async () => {
    const { code, stdout } = await kvidx(['bench', 'events', '--quick', '--launches', '1', '--json']);
    expect(code).toBe(0);
    const { checks, notes }: ScenarioReport = JSON.parse(stdout).scenarios[0];
    expect(checks).toContain('vllm-map: the index holds what the engine holds');
    expect(checks).toContain('vllm-extra-keys: so does the plain follower');
    expect(notes[0]).toMatch(/blocks of 16 tokens/);
  });

  it.runIf(built)('holds sketches to what is resident, and filters to their targets', async () => {
    const { code, stdout } = await kvidx(['bench', 'sketch', '--quick', '--launches', '1', '--json']);
    expect(code).toBe(0);
    const { checks, figures, notes }: ScenarioReport = JSON.parse(stdout).scenarios[0];
    for (const words of [
      /^all paths give equal bits and answers for 17,000 keys: scalar.*wasm$/,
      /^never a false negative: 50,000 keys/,
      /^overlap by sketch ≥ exact overlap for all 800 pairs/,
      /^a frame a request: who follows has each of 100 frames, and all that is resident$/,
      /^a worker of 17,000 blocks: who joins knows them all$/,
    ]) {
      expect(checks).toContainEqual(expect.stringMatching(words));
    }
    expect(notes.join()).not.toMatch(/bloom-filters/);
    expect(notes).toContainEqual(
      expect.stringMatching(/left out are full frames .* by time alone \(fullEveryMs\)/),
    );
    const rates = figures.filter(({ name }) => name.endsWith('measured ÷ target'));
    expect(rates).toHaveLength(3);
    for (const { name, value } of rates) expect(Math.abs(value - 1), name).toBeLessThan(0.2);
  });

  it.runIf(built).each(['apc', 'events', 'ingest', 'sketch'])(
    'names the bad line of a trace before it times anything: %s',
    async (name) => {
      const { code, stderr } = await kvidx([
        'bench',
        name,
        '--quick',
        '--launches',
        '1',
        '--trace',
        brokenTrace,
      ]);
      expect(code).toBe(1);
      expect(stderr).toMatch(new RegExp(`\nkvidx: bench ${name}: .*broken\\.jsonl:4: .*\\n$`));
    },
  );

  it.runIf(built)('soaks an index when asked by name', async () => {
    const { code, stdout } = await kvidx(['bench', 'soak', '--quick', '--launches', '1']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/asserted: 200,000 operations: validate finds nothing/);
  });

  it.runIf(built)('measures the addon whatever KVIDX_BACKEND says', async () => {
    const { code, stdout } = await kvidx(['bench', 'hash', '--quick', '--launches', '1'], {
      env: { KVIDX_BACKEND: 'wasm' },
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/ · native, (scalar|avx2|avx512) · blocks of 24 tokens · 1 launch · quick\n/);
  });

  it.each(['--out', '--plot'])(
    'says before anything runs that the file of %s cannot be written',
    async (option) => {
      const file = join(folder, 'no', 'folder');
      const { code, stdout, stderr } = await kvidx(['bench', 'hash', '--quick', option, file]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^kvidx: cannot write .*no.folder: no such directory\n$/);
    },
  );

  it.runIf(built && process.platform === 'linux')('takes its scenario with it when it is ended', async () => {
    let scenario: string | undefined;
    const { code } = await kvidx(['bench', 'soak'], {
      onStart: async (child) => {
        while (scenario === undefined && child.exitCode === null) {
          await delay(50);
          scenario = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').match(/\d+/)?.[0];
        }
        child.kill('SIGTERM');
      },
    });
    expect(code).toBe(143);
    await expect.poll(() => existsSync(`/proc/${scenario}`), { timeout: 10_000 }).toBe(false);
  });

  it.runIf(built)('writes its file also when nobody reads what it prints', async () => {
    const out = join(folder, 'unread.json');
    const { code, stderr } = await kvidx(['bench', 'boundary', 'hash', '--quick', '--out', out], {
      stopReading: true,
    });
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/Error|kvidx:/);
    expect(JSON.parse(readFileSync(out, 'utf8')).scenarios).toHaveLength(2);
  });

  it.runIf(built)('ends quietly when nobody reads what it prints, and there is no file', async () => {
    const { code, stderr } = await kvidx(['bench', 'boundary', 'hash', '--quick'], { stopReading: true });
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/Error|kvidx:/);
  });
});

describe('kvidx bench without an addon', () => {
  const bare = compiledCli({ addons: [] });

  it('says in one line what to do', async () => {
    const { code, stdout, stderr } = await bare(['bench', '--quick']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^kvidx: .*kvidx\.node.*npm run build:native.*npm rebuild kvidx.*\n$/);
  });
});

describe.runIf(built)('kvidx bench without the addon that has no bounds', () => {
  const paths = ['kvidx', 'kvidx_bench']
    .map(findAddon)
    .flatMap((search) => ('path' in search ? search.path : []));
  const some = compiledCli({ addons: paths });

  it('says what it leaves out', async () => {
    const { code, stdout } = await some(['bench', 'ingest', '--quick', '--launches', '1', '--trace', trace]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/unbounded slots: not compared, kvidx_unbounded\.node was not built/);
    expect(stdout).not.toMatch(/without the machinery /);
  });
});

describe.runIf('addon' in addon)('kvidx bench with half of its addons', () => {
  const half = compiledCli({ addons: 'path' in addon ? [addon.path] : [] });

  it("passes on in one line what a scenario's process misses", async () => {
    const { code, stderr } = await half(['bench', 'index', '--quick', '--launches', '1']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/\nkvidx: bench index: .*kvidx_bench\.node.*npm rebuild kvidx.*\n$/);
    expect(stderr).not.toMatch(/ at /);
  });
});
