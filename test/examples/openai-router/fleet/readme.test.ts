import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { freePorts } from '../../../free-ports.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
/** The router's there; its workers have the next ones. */
const FIRST_PORT = 8080;
const WORKERS = 3;
const COMES_WITHIN_MS = 30_000;

const readme = readFileSync(join(ROOT, 'examples/openai-router/README.md'), 'utf8');
const blocks = [...readme.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, text]) => ({
  language,
  text: text!,
}));
const commands = blocks.filter(({ language }) => language === 'sh').flatMap(({ text }) => linesOf(text));
const curls = commands.filter((line) => line.startsWith('curl '));

/** Skipped where there is no curl; with CI set they fail. */
const hasNoCurl = !process.env.CI && spawnSync('curl', ['--version']).error !== undefined;

describe.skipIf(hasNoCurl)('README of the example router', () => {
  let firstPort: number;
  let started: ChildProcess;
  let printed = '';
  let curlHome: string;

  beforeAll(async () => {
    curlHome = mkdtempSync(join(tmpdir(), 'kvidx-curl-'));
    // So that a command that is written for people fails where the answer is an error.
    writeFileSync(join(curlHome, '.curlrc'), 'silent\nshow-error\nfail-with-body\nmax-time = 30\n');
    firstPort = await freePorts(1 + WORKERS);
    const [start] = commands.flatMap((line) => /npm run example:openai-router$/.exec(line) ?? []);
    started = spawn('sh', ['-c', `exec ${start} -- --port ${firstPort}`], { cwd: ROOT, detached: true });
    started.stdout!.on('data', (text) => {
      printed += text;
    });
    await vi.waitFor(() => expect(printed).toContain('Ctrl-C'), COMES_WITHIN_MS);
  });
  afterAll(() => {
    if (started?.exitCode === null && started.signalCode === null) process.kill(-started.pid!, 'SIGKILL');
    rmSync(curlHome, { recursive: true });
  });

  const ports = () => Array.from({ length: 1 + WORKERS }, (_, i) => firstPort + i);
  const here = (text: string) =>
    text.replaceAll(/(?<=127\.0\.0\.1:)\d+/g, (port) => `${Number(port) - FIRST_PORT + firstPort}`);

  async function run(command: string): Promise<string> {
    const env = { ...process.env, CURL_HOME: curlHome };
    const { stdout } = await promisify(execFile)('sh', ['-c', command], { env });
    return stdout;
  }

  function expectAnswer(command: string, answer: string): void {
    if (/"stream": ?true/.test(command)) expect(answer).toMatch(/^data: \{.*data: \[DONE\]\n\n$/s);
    else if (command.endsWith('/metrics')) expect(answer).toMatch(/^kvidx_router_decisions_total [1-9]/m);
    else expect(JSON.parse(answer)).not.toHaveProperty('error');
  }

  test('has commands to try', () => {
    expect(curls.length).toBeGreaterThan(5);
  });

  test.each(curls)('%s', async (command) => {
    expectAnswer(command, await run(here(command)));
  });

  test('shows the official client', async () => {
    const code = blocks.find(({ text }) => text.includes("from 'openai'"))!.text;
    const { stdout } = await promisify(execFile)('node', ['--input-type=module', '-e', here(code)], {
      cwd: ROOT,
    });
    expect(stdout).toMatch(/^\w+( \w+)+$/);
  });

  test('starts what prints commands that work, too', async () => {
    // One of them may have been made to die.
    await vi.waitFor(() => Promise.all(ports().map((port) => fetch(`http://127.0.0.1:${port}/health`))), {
      timeout: COMES_WITHIN_MS,
      interval: 100,
    });
    const lines = linesOf(printed).filter((line) => line.startsWith('curl '));
    expect(lines.length).toBeGreaterThan(2);
    for (const command of lines) expectAnswer(command, await run(command));
  });

  test('ends all by Ctrl-C', async () => {
    const closed = once(started, 'close');
    process.kill(-started.pid!, 'SIGINT');
    await closed;
    for (const port of ports())
      await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow('fetch failed');
  });
});

/** Those that end with a backslash go on. */
function linesOf(text: string): string[] {
  return text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.trim());
}
