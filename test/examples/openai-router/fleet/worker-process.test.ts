import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { Program } from '../../../../examples/openai-router/fleet/program.js';
import { freePorts } from '../../../free-ports.js';
import { user, WorkerClient } from '../worker-client.js';

const FILE = fileURLToPath(
  new URL('../../../../dist/examples/openai-router/worker/main.js', import.meta.url),
);

function start(...args: string[]): { program: Program; lines: string[] } {
  const lines: string[] = [];
  const program = new Program({ name: 'w0', file: FILE, args, onLine: (line) => lines.push(line) });
  onTestFinished(() => program.kill());
  return { program, lines };
}

test('a worker tells where it listens, and a SIGTERM ends it cleanly in the middle of a stream', async () => {
  const { program, lines } = start('--port', '0', '--events-port', '0', '--token-ms', '60000');
  const told = await program.listening;
  expect(told).toEqual({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    events: expect.stringMatching(/^tcp:\/\/127\.0\.0\.1:\d+$/),
    replay: expect.stringMatching(/^tcp:\/\/127\.0\.0\.1:\d+$/),
  });
  const client = new WorkerClient({ ...told, close: () => program.stop() });
  const { body } = await client.chat([user('Hello.')], { stream: true });
  await body!.getReader().read();
  await program.stop();
  expect(await program.ended).toBe('exit code 0');
  expect(lines).toEqual([]);
});

test('a worker that is told to die answers that, and is gone', async () => {
  const { program } = start('--port', '0');
  const client = new WorkerClient({ ...(await program.listening), close: () => program.stop() });
  await client.mode('die');
  expect(await program.ended).toBe('exit code 1');
});

test('a worker ends with its parent', async () => {
  const child = fork(FILE, ['--port', '0']);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  child.disconnect();
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('a worker that cannot start says why', async () => {
  const port = await freePorts(1);
  const { program } = start('--port', `${port}`);
  await program.listening;
  const cases: [string[], RegExp][] = [
    [['--port', `${port}`], new RegExp(`EADDRINUSE.*${port}`)],
    [['--port', '0', '--events-port', `${port}`], new RegExp(`cannot bind tcp://127\\.0\\.0\\.1:${port}`)],
    [['--port', '1e3'], /--port .*integer from 0 to 65535/],
    [['--tokenizer', FILE], /main\.js/],
    [['--no-such-option'], /--no-such-option/],
  ];
  for (const [args, message] of cases) {
    await expect(start(...args).program.listening).rejects.toThrow(message);
  }
});
