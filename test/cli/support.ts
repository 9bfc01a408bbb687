import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';

export const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  input?: string | Uint8Array;
  /** Standard input does not end behind the input, until the command has ended. */
  inputStaysOpen?: boolean;
  /** A file instead of the pipe that is read. */
  stdoutTo?: string;
  /** Closes the other end of standard output at the first bytes, as `head` does. */
  stopReading?: boolean;
  env?: Record<string, string>;
  /** Told of the process as soon as there is one: to signal it, or to read along. */
  onStart?: (child: ChildProcess) => void;
}

export type Cli = (args: readonly string[], options?: RunOptions) => Promise<Run>;

/** The sources, compiled anew into a folder within the project, which is the caller's to remove. */
export function compileSources(): string {
  mkdirSync(join(root, 'build'), { recursive: true });
  const folder = mkdtempSync(join(root, 'build', 'compiled-test-'));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const options = ['--noCheck', '--declaration', 'false', '--outDir', folder];
  execFileSync(process.execPath, [tsc, '-p', root, ...options]);
  execFileSync(process.execPath, [join(root, 'scripts/copy-pages.mjs'), folder]);
  return folder;
}

let compiled: string | undefined;

/** Compiling takes seconds: once for all that a test file calls. */
function compiledOnce(): string {
  if (compiled === undefined) {
    const folder = compileSources();
    afterAll(() => {
      rmSync(folder, { recursive: true });
      compiled = undefined;
    });
    compiled = folder;
  }
  return compiled;
}

function copyOf(folder: string): string {
  const copy = mkdtempSync(join(root, 'build', 'compiled-test-'));
  afterAll(() => rmSync(copy, { recursive: true }));
  cpSync(folder, copy, { recursive: true });
  return copy;
}

/**
 * Takes the sources (not what an earlier build left in `dist`), compiled, and answers a function that runs the command line.
 * Inside the project, so that the compiled files find its package.json and its addons; with `addons`, they are a
 * package of their own that has these prebuilt addons only.
 */
export function compiledCli({ addons }: { addons?: readonly string[] } = {}): Cli {
  let folder = compiledOnce();
  if (addons !== undefined) {
    folder = copyOf(folder);
    const prebuilds = join(folder, 'prebuilds', `${process.platform}-${process.arch}`);
    mkdirSync(prebuilds, { recursive: true });
    copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
    for (const path of addons) copyFileSync(path, join(prebuilds, basename(path)));
  }
  const main = join(folder, 'src/cli/main.js');
  return (args, options = {}) => run([main, ...args], options);
}

function run(args: readonly string[], options: RunOptions): Promise<Run> {
  const { input, inputStaysOpen, stdoutTo, stopReading, env, onStart } = options;
  return new Promise((resolve, reject) => {
    const stdout = stdoutTo === undefined ? 'pipe' : openSync(stdoutTo, 'w');
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['pipe', stdout, 'pipe'],
    }) as ChildProcess & { stdin: Writable; stderr: Readable };
    if (stdout !== 'pipe') closeSync(stdout);
    const result: Run = { code: null, stdout: '', stderr: '' };
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      result.stdout += text;
      if (stopReading) child.stdout?.destroy();
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      result.stderr += text;
    });
    onStart?.(child);
    child.on('error', reject);
    child.on('close', (code) => resolve({ ...result, code }));
    child.stdin.on('error', () => {}); // the command may end before it has read everything
    if (inputStaysOpen) child.stdin.write(input ?? '');
    else child.stdin.end(input);
  });
}
