import { spawnSync } from 'node:child_process';
import { Redis as Client } from 'ioredis';
import { freePort, Redis } from '../../../examples/two-routers/redis.js';

/** Tests that need one are skipped without it, except where all must run. */
export const hasNoRedis = !process.env.CI && spawnSync('redis-server', ['--version']).error !== undefined;
if (hasNoRedis) console.warn('redis-server is not installed: tests of Redis are skipped');

/** That of the example, and what tests do to it. */
export class RedisServer extends Redis {
  static override async start(): Promise<RedisServer> {
    const server = new RedisServer(await freePort());
    await server.start();
    return server;
  }

  /** It neither answers nor hangs up. */
  freeze(): void {
    this.signal('SIGSTOP');
  }

  thaw(): void {
    this.signal('SIGCONT');
  }

  /** One command, on a connection of its own. */
  async call(...[command, ...args]: [string, ...string[]]): Promise<unknown> {
    const client = new Client(this.port, '127.0.0.1', { maxRetriesPerRequest: 0 });
    try {
      return await client.call(command, ...args);
    } finally {
      client.disconnect();
    }
  }
}
