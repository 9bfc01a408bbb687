import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, test } from 'vitest';
import { Fleet, type FleetOptions } from '../../../../examples/openai-router/fleet/processes.js';
import type { StateOfRouter } from '../../../../examples/openai-router/router/state.js';
import { Redis } from '../../../../examples/two-routers/redis.js';
import { freePorts } from '../../../free-ports.js';
import { hasNoRedis } from '../../../sketch/exchange/redis-server.js';

const fleets: Fleet[] = [];

afterEach(async () => {
  await Promise.all(fleets.splice(0).map((fleet) => fleet.stop()));
});

async function start(options: FleetOptions): Promise<Fleet> {
  const fleet = await Fleet.start(options);
  fleets.push(fleet);
  return fleet;
}

async function healthy(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health`)).ok;
  } catch {
    return false;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const PROCESSES = new URL('../../../../dist/examples/openai-router/fleet/processes.js', import.meta.url);

describe('a fleet', () => {
  test('is a router and its workers, which answer, and which stop together', async () => {
    const fleet = await start({ workers: 2 });
    expect(fleet.workers.map(({ name, isRunning }) => ({ name, isRunning }))).toEqual([
      { name: 'w0', isRunning: true },
      { name: 'w1', isRunning: true },
    ]);
    const urls = [fleet.routerUrl, ...fleet.workers.map(({ url }) => url)];
    expect(new Set(urls).size).toBe(3);
    for (const url of urls) expect(await healthy(url)).toBe(true);
    const pids = ['router', 'w0', 'w1'].map((name) => fleet.pid(name));
    await fleet.stop();
    expect(pids.map(isRunning)).toEqual([false, false, false]);
    for (const url of urls) expect(await healthy(url)).toBe(false);
    await fleet.stop(); // again, which does nothing
    await expect(fleet.revive('w0')).rejects.toThrow('its fleet was stopped');
  });

  test('has the ports that are asked for', async () => {
    const port = await freePorts(3);
    const fleet = await start({ workers: 2, port, workerPort: port + 1 });
    const urls = [fleet.routerUrl, ...fleet.workers.map(({ url }) => url)];
    expect(urls.map((url) => Number(new URL(url).port))).toEqual([port, port + 1, port + 2]);
  });

  test('tells that a worker died, and starts it again where it was', async () => {
    const ended: string[] = [];
    const fleet = await start({
      workers: 1,
      events: true,
      onEnd: (name, how) => ended.push(`${name} ${how}`),
    });
    const [worker] = fleet.workers;
    await fleet.kill('w0');
    expect(worker!.isRunning).toBe(false);
    expect(await healthy(worker!.url)).toBe(false);
    expect(ended).toEqual(['w0 SIGKILL']);
    await fleet.revive('w0');
    expect(worker!.isRunning).toBe(true);
    expect(await healthy(worker!.url)).toBe(true);
    await expect(fleet.revive('w0')).rejects.toThrow('w0 is running');
    await fleet.stop();
    expect(ended).toEqual(['w0 SIGKILL']);
  });

  test.skipIf(hasNoRedis)('has a sidecar beside each worker for sketches, which comes back too', async () => {
    const redis = await Redis.start();
    try {
      const fleet = await start({ workers: 1, sketch: redis.url });
      await fleet.kill('w0-sidecar');
      await fleet.revive('w0-sidecar');
      const state = (await (await fetch(`${fleet.routerUrl}/debug/state`)).json()) as StateOfRouter;
      expect(state.workers).toMatchObject([{ name: 'w0', residency: 'sketch' }]);
      await fleet.stop(); // before what its programs are connected to
    } finally {
      await redis.stop();
    }
  });

  test('of which one does not start is stopped, and says why', async () => {
    const options = { workers: 1, workerArgs: ['--no-such-option'] };
    await expect(start(options)).rejects.toThrow(/w0 did not start[\s\S]*--no-such-option/);
    const routerFails = start({
      workers: 1,
      routerArgs: ['--policy', 'no-such-policy'],
    });
    await expect(routerFails).rejects.toThrow(/router did not start[\s\S]*no-such-policy/);
  });

  test('ends with the process that started it, however that ends', async () => {
    const source = `
      const { Fleet } = await import('${PROCESSES}');
      const fleet = await Fleet.start({ workers: 1 });
      console.log(fleet.pid('w0'), fleet.pid('router'));`;
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(createInterface(parent.stdout), 'line');
    parent.kill('SIGKILL');
    const pids = `${line}`.split(' ').map(Number);
    expect(pids).toHaveLength(2);
    await expect.poll(() => pids.map(isRunning), { timeout: 20_000 }).toEqual([false, false]);
  });

  test('knows its programs by name', async () => {
    const fleet = await start({ workers: 1 });
    await expect(fleet.kill('w7')).rejects.toThrow('no program is named w7: there are w0, router');
  });
});
