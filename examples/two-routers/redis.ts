import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A Redis of our own on a free port of this machine, which keeps nothing. */
export class Redis {
  readonly #directory = mkdtempSync(join(tmpdir(), 'two-routers-'));
  readonly #port: number;
  #process: ChildProcess | undefined;

  private constructor(port: number) {
    this.#port = port;
  }

  static async start(): Promise<Redis> {
    const redis = new Redis(await freePort());
    await redis.start();
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#port}`;
  }

  /** Again on the same port, and empty. */
  async start(): Promise<void> {
    const options = [
      '--port',
      `${this.#port}`,
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--dir',
      this.#directory,
    ];
    const redis = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#process = redis;
    redis.on('error', ({ message }) => {
      console.error(
        `redis-server does not start (${message}). Debian and Ubuntu: apt-get install redis-server`,
      );
      process.exit(1);
    });
    for await (const line of redis.stdout) if (String(line).includes('Ready to accept connections')) break;
  }

  async kill(): Promise<void> {
    const redis = this.#process!;
    const closed = once(redis, 'exit');
    redis.kill('SIGKILL');
    await closed;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
