import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

/** Tests that need one are skipped without it, except where all must run. */
export const hasNoRedis = !process.env.CI && spawnSync('redis-server', ['--version']).error !== undefined;
if (hasNoRedis) console.warn('redis-server is not installed: tests of Redis are skipped');

/** Below the ports that outgoing connections take: one that tries to come back there could meet itself. */
const FIRST_PORT = 20_000;
const PORTS = 10_000;

/** A Redis of its own on a free port of the loopback interface, which keeps nothing on disk. */
export class RedisServer {
  readonly #directory = mkdtempSync(join(tmpdir(), 'kvidx-redis-'));
  readonly #port: number;
  #process: ChildProcess | undefined;

  private constructor(port: number) {
    this.#port = port;
  }

  static async start(): Promise<RedisServer> {
    const server = new RedisServer(await freePort());
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#port}`;
  }

  /** Again on its port, and empty. */
  async start(): Promise<void> {
    const options = { port: this.#port, bind: '127.0.0.1', save: '', appendonly: 'no', dir: this.#directory };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, `${value}`]);
    const server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#process = server;
    let log = '';
    const ready = new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.once('exit', (code) => reject(new Error(`redis-server ended with ${code}:\n${log}`)));
      server.stdout.on('data', (text) => {
        log += text;
        if (log.includes('Ready to accept connections')) resolve();
      });
    });
    await ready;
  }

  /** At once, without a word to its clients. */
  async kill(): Promise<void> {
    const server = this.#process!;
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exit = once(server, 'exit');
    server.kill('SIGKILL');
    await exit;
  }

  /** It neither answers nor hangs up. */
  freeze(): void {
    this.#process!.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process!.kill('SIGCONT');
  }

  /** One command, on a connection of its own. */
  async call(...[command, ...args]: [string, ...string[]]): Promise<unknown> {
    const redis = new Redis(this.#port, '127.0.0.1', { maxRetriesPerRequest: 0 });
    try {
      return await redis.call(command, ...args);
    } finally {
      redis.disconnect();
    }
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

async function freePort(): Promise<number> {
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
