import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Below the ports that outgoing connections take: one that tries to come back there could meet itself. */
const FIRST_PORT = 20_000;
const PORTS = 10_000;

/** A Redis of its own on a free port of the loopback interface, which keeps nothing on disk. */
export class Redis {
  readonly port: number;
  readonly #directory = mkdtempSync(join(tmpdir(), 'kvidx-redis-'));
  #process: ChildProcess | undefined;

  protected constructor(port: number) {
    this.port = port;
  }

  static async start(): Promise<Redis> {
    const redis = new Redis(await freePort());
    await redis.start();
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Again on its port, and empty. */
  async start(): Promise<void> {
    const options = { port: this.port, bind: '127.0.0.1', save: '', appendonly: 'no', dir: this.#directory };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, `${value}`]);
    const redis = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#process = redis;
    let log = '';
    await new Promise<void>((resolve, reject) => {
      redis.once('error', ({ message }) =>
        reject(new Error(`${message}. Debian and Ubuntu: apt-get install redis-server`)),
      );
      redis.once('exit', (code) => reject(new Error(`redis-server ended with ${code}:\n${log}`)));
      redis.stdout.on('data', (text) => {
        log += text;
        if (log.includes('Ready to accept connections')) resolve();
      });
    });
  }

  /** At once, without a word to its clients. */
  async kill(): Promise<void> {
    const redis = this.#process!;
    if (redis.exitCode !== null || redis.signalCode !== null) return;
    const exit = once(redis, 'exit');
    redis.kill('SIGKILL');
    await exit;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  protected signal(name: NodeJS.Signals): void {
    this.#process!.kill(name);
  }
}

export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
