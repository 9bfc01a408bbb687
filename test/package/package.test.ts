import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const nodePrefix = dirname(dirname(process.execPath));
const EXAMPLE = 'examples/agentic-mini.jsonl.gz';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kvidx-package-'));
});
afterAll(() => rm(folder, { recursive: true }));

const USE = `
  import { backend, BlockHasher, KvIndex } from 'kvidx';
  const seq = new BlockHasher().seqHashes(Uint32Array.from({ length: 100 }, (_, i) => i));
  const index = new KvIndex();
  index.store(index.addWorker('a'), seq);
  export const answer = { backend: backend().name, overlap: index.overlap(seq)[0] };`;

describe('the packed package, installed without install scripts', () => {
  let app: string;
  beforeAll(async () => {
    await npm(root, 'pack', '--pack-destination', folder);
    app = join(folder, 'app');
    await mkdir(app);
    const tarball = (await run('ls', [folder])).stdout.match(/kvidx-.*\.tgz/)![0];
    await npm(app, 'install', '--ignore-scripts', join(folder, tarball));
    await writeFile(join(app, 'use.mjs'), USE);
  });

  test('hashes, stores and queries natively', async () => {
    const { stdout } = await node(
      app,
      `import('./use.mjs').then(({ answer }) => console.log(JSON.stringify(answer)))`,
    );
    expect(JSON.parse(stdout)).toEqual({ backend: 'native', overlap: 4 });
  });

  test.runIf(process.platform === 'linux')('needs the glibc that the README states', async () => {
    const binaries = join(app, 'node_modules/kvidx/prebuilds', `${process.platform}-${process.arch}`);
    const needed = (
      await Promise.all((await readdir(binaries)).map((name) => glibcOf(join(binaries, name))))
    ).flat();
    const newest = needed.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
    const readme = await readFile(join(root, 'README.md'), 'utf8');
    const stated = [...readme.matchAll(/glibc (\d+\.\d+) or later/g)].map(([, version]) => version);
    expect(stated).toEqual([newest, newest]);
  });

  test('does so inside a worker thread', async () => {
    const thread = `import('./use.mjs').then(({ answer }) => require('worker_threads').parentPort.postMessage(answer))`;
    const { stdout } = await node(
      app,
      `new (require('worker_threads').Worker)(${JSON.stringify(thread)}, { eval: true })
        .on('message', (answer) => console.log(JSON.stringify(answer)))`,
    );
    expect(JSON.parse(stdout)).toEqual({ backend: 'native', overlap: 4 });
  });

  test.each([
    ['ioredis', '({ redisTransport }) => redisTransport()'],
    ['zeromq', '({ EventFeed, KvIndex, ZmqSubscriber }) => ZmqSubscriber.open(new EventFeed(new KvIndex()))'],
  ])('does without %s, and says when it is needed', async (peer, use) => {
    const ask = `import('kvidx').then(${use}).catch((error) => console.log(error.code, error.message))`;
    const { stdout } = await node(app, ask);
    expect(stdout).toMatch(new RegExp(`^ERR_KVIDX_TRANSPORT .*npm install ${peer}`));
  });

  test('has a command that reads its example', async () => {
    const example = join('node_modules', 'kvidx', EXAMPLE);
    const { stdout } = await run('npx', ['kvidx', 'apc', example, '--json'], { cwd: app });
    expect(JSON.parse(stdout)).toHaveProperty('apc_upper_any_session');
  });

  test('has every addon that its benches load, and what their page is made of', async () => {
    const scenarios = ['ingest', 'memory', '--quick', '--json', '--plot', 'figures.html'];
    const { stdout } = await run('npx', ['kvidx', 'bench', ...scenarios], { cwd: app });
    const { scenarios: results } = JSON.parse(stdout);
    expect(results).toHaveLength(2);
    expect(await readFile(join(app, 'figures.html'), 'utf8')).toContain('@observablehq/plot');
    if (process.platform !== 'linux') return; // memory says there what it cannot count
    for (const { notes } of results) expect(notes).toEqual([]);
  });

  test('does what the README shows', async () => {
    const readme = await readFile(join(root, 'README.md'), 'utf8');
    const examples = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code!);
    expect(examples.length).toBeGreaterThan(3);
    const { devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    await npm(app, 'install', '--ignore-scripts', `zeromq@${devDependencies.zeromq}`); // which one of them needs
    for (const code of examples) {
      await writeFile(join(app, 'example.mjs'), code);
      const { stdout } = await run(process.execPath, ['example.mjs'], { cwd: app });
      for (const [, printed] of code.matchAll(/^console\.log.*; \/\/ (.*)$/gm))
        expect(stdout).toContain(printed);
    }
  });

  test('falls back, and says why, when its binary does not load', async () => {
    const binary = join(
      app,
      'node_modules/kvidx/prebuilds',
      `${process.platform}-${process.arch}`,
      'kvidx.node',
    );
    await writeFile(binary, 'damaged');
    const show = `import('kvidx').then(({ backend }) => console.log(JSON.stringify(backend())))`;
    const { stdout } = await node(app, show);
    expect(JSON.parse(stdout)).toMatchObject({ name: 'wasm', reason: expect.stringContaining(binary) });
  });

  test('leaves no prebuilt binary in the checkout, where it would hide later builds', () => {
    expect(existsSync(join(root, 'prebuilds'))).toBe(false);
  });
});

describe('a fresh clone', () => {
  let clone: string;
  beforeAll(async () => {
    clone = join(folder, 'clone');
    await run('git', ['clone', '--quiet', root, clone]);
  });

  test('installs and works without cmake and a compiler, and says so once', async () => {
    const bin = join(folder, 'bin');
    await mkdir(bin);
    for (const tool of ['node', 'npm', 'npx', 'sh', 'git']) await symlink(await which(tool), join(bin, tool));
    const env = { ...process.env, PATH: bin };
    const { stdout, stderr } = await run('npm', ['ci', '--foreground-scripts'], { cwd: clone, env });
    expect(`${stdout}${stderr}`.match(/native addon was not built/g)).toHaveLength(1);
    const { stdout: json } = await run('npx', ['kvidx', 'apc', EXAMPLE, '--json'], { cwd: clone, env });
    expect(JSON.parse(json)).toHaveProperty('apc_upper_any_session');
    expect((await backendOf(clone)).name).toBe('wasm');
    await expect(backendOf(clone, 'native')).rejects.toThrow(/ERR_KVIDX_NATIVE_LOAD/);
  });

  test.runIf(existsSync(join(nodePrefix, 'include', 'node', 'node_api.h')))(
    'builds with node-gyp from local headers, and the tests of what calls it pass on that binary',
    async () => {
      await run('npx', ['node-gyp', 'rebuild', `--nodedir=${nodePrefix}`], {
        cwd: clone,
        maxBuffer: 2 ** 26,
      });
      expect(await backendOf(clone, 'native')).toMatchObject({
        name: 'native',
        path: expect.stringMatching(/build.Release.kvidx\.node$/),
      });
      const env = { ...process.env, KVIDX_BACKEND: 'native' };
      const suites = [
        'native',
        'hash',
        'property',
        'kv-index',
        'cases',
        'reference',
        'sketch/bloom',
        'sketch/read-frame',
        'trace',
        'analysis',
        'sim',
      ];
      const filters = suites.map((suite) => `test/${suite}`);
      const args = ['vitest', 'run', '--project', 'default', ...filters];
      await run('npx', args, { cwd: clone, env, maxBuffer: 2 ** 26 });
    },
  );
});

/** The versions of glibc whose symbols a binary uses, out of its table of strings. */
async function glibcOf(path: string): Promise<string[]> {
  const text = await readFile(path, 'latin1');
  return [...text.matchAll(/\0GLIBC_(\d+(?:\.\d+)+)(?=\0)/g)].map(([, version]) => version!);
}

function npm(cwd: string, ...args: string[]) {
  return run('npm', args, { cwd, maxBuffer: 2 ** 26 });
}

function node(cwd: string, code: string) {
  return run(process.execPath, ['-e', code], { cwd });
}

async function backendOf(cwd: string, choice = ''): Promise<{ name: string; path?: string }> {
  const code = `import('./dist/src/index.js').then(({ backend }) => console.log(JSON.stringify(backend())))`;
  const env = { ...process.env, KVIDX_BACKEND: choice };
  return JSON.parse((await run(process.execPath, ['-e', code], { cwd, env })).stdout);
}

async function which(tool: string): Promise<string> {
  for (const directory of process.env.PATH!.split(delimiter)) {
    if (!directory.includes('node_modules') && existsSync(join(directory, tool)))
      return join(directory, tool);
  }
  throw new Error(`${tool} is not on the PATH`);
}
