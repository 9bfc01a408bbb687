import { createServer } from 'node:net';

/** Below the ports that systems give away: nobody gets one of them by asking for any. */
const FIRST_PORT = 10_000;
const PORTS = 20_000;

/** The first of `count` ports in a row on the loopback interface that nobody uses. */
export async function freePorts(count: number): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const first = FIRST_PORT + Math.floor(Math.random() * PORTS);
    const servers = await Promise.all(Array.from({ length: count }, (_, i) => listen(first + i)));
    await Promise.all(servers.map((server) => server && new Promise((resolve) => server.close(resolve))));
    if (!servers.includes(undefined)) return first;
  }
  throw new Error('no free ports');
}

function listen(port: number) {
  const server = createServer();
  return new Promise<typeof server | undefined>((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
