import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { chat, stubWorker } from '../router-support.js';
import { begun, DONE, event } from '../stub-worker.js';

const FILE = fileURLToPath(
  new URL('../../../../dist/examples/openai-router/router/main.js', import.meta.url),
);

/** A router in a process of its own, with a stream under way. */
async function streaming(...args: string[]) {
  const worker = await stubWorker({ answer: (arrival) => begun(arrival, event('a')) });
  const child = fork(FILE, ['--port', '0', '--worker', worker.url, ...args]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  const stream = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify(chat('Hello.', { stream: true })),
  });
  return { child, ended, url, stream, engine: worker.arrivals[0]!.response };
}

const CUT_SHORT = /"code":"shutting_down"\}\}\n\n$/;

test('a SIGTERM lets what is under way end, and is seen at /health', async () => {
  const { child, ended, url, stream, engine } = await streaming();
  child.kill('SIGTERM');
  await expect.poll(async () => (await fetch(`${url}/health`)).status).toBe(503);
  engine.end(event('b') + DONE);
  expect(await stream.text()).toBe(event('a') + event('b') + DONE);
  expect(await ended).toEqual([0, null]);
});

test('a SIGTERM waits for so long and no longer', async () => {
  const { child, ended, stream } = await streaming('--drain-ms', '50');
  child.kill('SIGTERM');
  expect(await stream.text()).toMatch(CUT_SHORT);
  expect(await ended).toEqual([0, null]);
});

test.each<[string, (child: Awaited<ReturnType<typeof streaming>>['child']) => unknown]>([
  ['at Ctrl-C', (child) => child.kill('SIGINT')],
  ['at Ctrl-C behind a SIGTERM', (child) => child.kill('SIGTERM') && child.kill('SIGINT')],
  ['with its parent', (child) => child.disconnect()],
])('a router ends at once %s', async (_, end) => {
  const { child, ended, stream } = await streaming('--drain-ms', '600000');
  end(child);
  expect(await stream.text()).toMatch(CUT_SHORT);
  expect(await ended).toEqual([0, null]);
});

test('a worker that is not up from the start is logged, with the reason', async () => {
  const child = fork(FILE, ['--port', '0', '--worker', 'http://127.0.0.1:1'], { silent: true });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await once(createInterface(child.stderr!), 'line');
  expect(JSON.parse(line).msg).toBe('w0 is not up yet: it refuses connections');
});

test('an address of IPv6 is told as a URL has it', async () => {
  const { url } = await streaming('--host', '::1');
  expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
});
