import { fileURLToPath } from 'node:url';
import { BlockHasher, redisTransport, SketchSubscriber } from 'kvidx';
import { afterEach, describe, expect, test } from 'vitest';
import { Program } from '../../../../examples/openai-router/fleet/program.js';
import { freePorts } from '../../../free-ports.js';
import { hasNoRedis, RedisServer } from '../../../sketch/exchange/redis-server.js';
import { MODEL, WorkerClient } from '../worker-client.js';

const BLOCK_SIZE = 24;
const BOUNDED = { timeout: 30_000, interval: 20 };
const hasher = new BlockHasher({ blockSize: BLOCK_SIZE });
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function start(file: string, args: readonly string[]): { program: Program; lines: string[] } {
  const lines: string[] = [];
  const path = fileURLToPath(new URL(`../../../../dist/examples/openai-router/${file}`, import.meta.url));
  const program = new Program({ name: file, file: path, args, onLine: (line) => lines.push(line) });
  closing.push(() => program.kill());
  return { program, lines };
}

async function startWorker(ports: readonly number[]) {
  const [port, events, replay] = ports.map(String) as [string, string, string];
  const args = ['--port', port, '--events-port', events, '--replay-port', replay, '--token-ms', '1'];
  const { program } = start('worker/main.js', args);
  const told = await program.listening;
  return { program, told, client: new WorkerClient({ ...told, close: () => program.stop() }) };
}

/** Blocks of these token ids. */
function hashesOf(ids: readonly number[]): BigUint64Array {
  return hasher.seqHashes(Uint32Array.from(ids));
}

async function complete(client: WorkerClient, prompt: readonly number[]): Promise<void> {
  const response = await client.post('/v1/completions', { model: MODEL, prompt, max_tokens: 1 });
  expect(response.status).toBe(200);
  await response.text();
}

describe.skipIf(hasNoRedis)('a sidecar', () => {
  test('publishes sketches of what its engine holds, also of one that was there before, and of one that begins anew', async () => {
    const redis = await RedisServer.start();
    closing.push(() => redis.stop());
    const first = await freePorts(3);
    const ports = [first, first + 1, first + 2];
    const worker = await startWorker(ports);
    const [before, after, anew] = [1, 2, 3].map((seed) => Array.from({ length: 2400 }, (_, i) => seed * i));
    await complete(worker.client, before!);

    const { events, replay } = worker.told;
    const args = ['--worker', 'w0', '--events', events!, '--replay', replay!, '--sketch', redis.url];
    const { program, lines } = start('sidecar.js', args);
    expect(await program.listening).toEqual({ worker: 'w0' });
    const transport = await redisTransport({ url: redis.url });
    const subscriber = new SketchSubscriber({ transport, blockSize: BLOCK_SIZE, wantEveryMs: 100 });
    closing.push(async () => {
      await subscriber.close();
      await transport.close();
    });
    const followed = subscriber.follow('w0');
    const leading = (ids: readonly number[]) => followed.sketch?.filter.leadingBlocks(hashesOf(ids));

    await expect.poll(() => leading(before!), BOUNDED).toBe(100);
    await complete(worker.client, after!);
    await expect.poll(() => leading(after!), BOUNDED).toBe(100);
    expect(followed.sketch!.keys).toBe((await worker.client.state()).blocks);

    await worker.program.kill();
    const next = await startWorker(ports);
    await complete(next.client, anew!);
    await expect.poll(() => leading(anew!), BOUNDED).toBe(100);
    expect(followed.sketch!.keys).toBe(100);
    expect(leading(before!)).toBeLessThan(10);

    await program.stop();
    expect(await program.ended).toBe('exit code 0');
    expect(lines).toContain('w0: connected, all is known');
    expect(lines).toContain('w0: not connected, unconfirmed');
  });
});

test('a sidecar whose engine and store are away says so, and ends when it is asked to', async () => {
  const first = await freePorts(2);
  const args = ['--events', `tcp://127.0.0.1:${first}`, '--sketch', `redis://:secret@127.0.0.1:${first + 1}`];
  const { program, lines } = start('sidecar.js', ['--worker', 'w0', ...args]);
  await program.listening;
  await expect.poll(() => lines.join('\n'), BOUNDED).toMatch(/ERR_KVIDX_TRANSPORT|ECONNREFUSED/);
  await program.stop();
  expect(await program.ended).toBe('exit code 0');
  expect(lines.join('\n')).not.toContain('secret');
});

test.each([
  [[], /--worker/],
  [['--worker', 'w0', '--events', 'nonsense', '--sketch', 'redis://127.0.0.1'], /endpoint.*nonsense/],
  [['--worker', 'w0', '--events', 'tcp://127.0.0.1:1', '--sketch', 'http://x'], /redis:\/\//],
])('a sidecar with %j does not start, and says why', async (args, message) => {
  await expect(start('sidecar.js', args).program.listening).rejects.toThrow(message);
});
