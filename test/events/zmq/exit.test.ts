import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { compileSources } from '../../cli/support.js';
import { freePorts } from '../../free-ports.js';
import { Engine } from './support.js';

test('a subscriber that is closed, whatever it waited for, lets its process end', async () => {
  const folder = compileSources();
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const module = pathToFileURL(join(folder, 'src/events/zmq/zmq-subscriber.js')).href;
  const engine = await Engine.start();
  engine.isAnswering = false;
  const port = await freePorts(2);
  const { endpoint, replayEndpoint } = engine;
  const followed = {
    a: { endpoint, replayEndpoint },
    b: { endpoint: `tcp://127.0.0.1:${port}`, replayEndpoint: `tcp://127.0.0.1:${port + 1}` },
  };
  const script = `
    const { ZmqSubscriber } = await import(${JSON.stringify(module)});
    const sink = { apply: () => ({ isDamaged: false, isCleared: false }), restarted() {}, degraded() {} };
    const subscriber = await ZmqSubscriber.open({ sink: () => sink });
    for (const [worker, options] of Object.entries(${JSON.stringify(followed)})) subscriber.follow(worker, options);
    subscriber.follow('c', { endpoint: 'inproc://c' });
    while (!subscriber.status()[0].connected) await new Promise((resolve) => setTimeout(resolve, 1));
    await subscriber.close();
    console.log('closed');`;
  const args = ['--input-type=module', '-e', script];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 });
  expect({ stdout, stderr }).toEqual({ stdout: 'closed\n', stderr: '' });
});
