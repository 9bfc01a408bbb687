import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { Program } from '../../../../examples/openai-router/fleet/program.js';

const directory = mkdtempSync(join(tmpdir(), 'kvidx-program-'));
const started: Program[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((program) => program.kill()));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** A program of these lines; `listen()` tells the parent of an address. */
function start(source: string, onLine?: (line: string) => void): Program {
  const file = join(directory, `program-${Math.random()}.mjs`);
  const listen = `const listen = () => process.send({ url: 'http://127.0.0.1:1' });`;
  writeFileSync(file, `${listen}\nsetInterval(() => {}, 1000);\n${source}`);
  const program = new Program({ name: 'w0', file, args: ['--a', '1'], onLine });
  started.push(program);
  return program;
}

describe('a program', () => {
  test('tells where it listens, and gets its arguments', async () => {
    const program = start(`process.send({ url: process.argv.slice(2).join(' ') });`);
    expect(await program.listening).toEqual({ url: '--a 1' });
    expect(program.isRunning).toBe(true);
    expect(program.pid).toBeGreaterThan(0);
  });

  test('that ends before it listens is told with the last of what it printed', async () => {
    const program = start(`
      for (let i = 0; i < 100; i++) console.log('line ' + i);
      console.error('port 8001 is in use');
      process.exitCode = 3;
      process.disconnect();
      setTimeout(() => process.exit(), 10);`);
    const error = await program.listening.catch(({ message }) => message);
    expect(error).toMatch(/^w0 did not start \(exit code 3\)/);
    expect(error).toContain('port 8001 is in use');
    expect(error).toContain('line 99');
    expect(error).not.toContain('line 50');
    expect(program.isRunning).toBe(false);
  });

  test('that is no file does not start', async () => {
    const program = new Program({ name: 'w0', file: join(directory, 'nothing.mjs'), args: [] });
    await expect(program.listening).rejects.toThrow(/w0 did not start[\s\S]*nothing\.mjs/);
  });

  test('ends when it is asked to, or told to', async () => {
    const asked = start(`process.on('SIGTERM', () => process.exit(0)); listen();`);
    const told = start('listen();');
    await Promise.all([asked.listening, told.listening]);
    await Promise.all([asked.stop(), told.kill()]);
    expect(await asked.ended).toBe('exit code 0');
    expect(await told.ended).toBe('SIGKILL');
    expect([asked.isRunning, told.isRunning]).toEqual([false, false]);
    await Promise.all([asked.stop(), told.kill()]); // again, which does nothing
  });

  test('that does not end when asked is killed', async () => {
    const program = start(`process.on('SIGTERM', () => {}); listen();`);
    await program.listening;
    await program.stop();
    expect(await program.ended).toBe('SIGKILL');
  });

  test('that is stopped while it starts ends too', async () => {
    const program = start('');
    await program.stop();
    await expect(program.listening).rejects.toThrow('w0 did not start (SIGTERM)');
  });

  test('is heard line by line, whatever output it uses', async () => {
    const lines: string[] = [];
    const program = start(
      `process.stdout.write('one\\ntw'); process.stdout.write('o\\n'); console.error('three'); listen();`,
      (line) => lines.push(line),
    );
    await program.listening;
    await program.kill();
    expect(lines.toSorted()).toEqual(['one', 'three', 'two']);
  });
});
