import { fail, run } from '../run-program.js';
import { readOptions } from './options.js';
import { createServer } from './server.js';

const options = readOptions(process.argv.slice(2));
const { host, port, drainMs } = options;
const { app, close } = await createServer(options).catch(fail);
const url = await app.listen({ host, port }).catch((error: NodeJS.ErrnoException) => {
  const isTaken = error.code === 'EADDRINUSE';
  return fail(isTaken ? new Error(`port ${port} is taken: choose another one by --port`) : error);
});
run({ url }, `router listens at ${url}`, (hasTime) => close(hasTime ? drainMs : 0));
