import type { AddressInfo } from 'node:net';
import { fail, run } from '../run-program.js';
import { readOptions } from './options.js';
import { createServer } from './server.js';

const options = readOptions(process.argv.slice(2));
const { host, port } = options;
const server = await createServer(options).catch(fail);
await server.listen({ host, port }).catch((error: NodeJS.ErrnoException) => {
  const isTaken = error.code === 'EADDRINUSE';
  fail(isTaken ? new Error(`port ${port} is taken: choose another one by --port`) : error);
});
const url = `http://${host}:${(server.server.address() as AddressInfo).port}`;
run({ url }, `router listens at ${url}`, () => server.close());
