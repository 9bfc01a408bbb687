// One router and three workers, in processes of their own.
//
//   npm run example:openai-router
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { Fleet } from './fleet/processes.js';
import { sheet } from './fleet/sheet.js';
import { integer } from './integer-option.js';
import { modelOf } from './load/client.js';
import { DemoTraffic } from './load/traffic.js';

interface Options {
  readonly workers: number;
  readonly port: number;
  readonly policy?: string;
  readonly overlap?: string;
  readonly events?: true;
  readonly sketch?: string;
  readonly traffic?: true;
}

/** Of the router, so that one need not wait long to see what it does about a worker that stalls. */
const SHORT_PATIENCE = ['--first-byte-ms', '10000', '--answer-ms', '20000', '--idle-ms', '10000'];
/** A worker that died starts again after so long. */
const PAUSE_MS = 3_000;

const options = new Command('start')
  .description('Starts a router and workers without a model, and says what to do with them.')
  .option('--workers <number>', 'how many', integer(1, 64), 3)
  .option('--port <number>', 'of the router; workers have the next ones; 0: any', integer(0, 65_000), 8080)
  .option('--policy <spec>', 'of the router: kvidx sim --help lists them')
  .addOption(
    new Option('--overlap <kind>', 'kv-aware with set, prefix, exclusive or fair').conflicts('policy'),
  )
  .option('--events', "the router follows the workers' KV events, in place of an estimate")
  .addOption(new Option('--sketch <url>', 'it follows sketches in this Redis, redis://…').conflicts('events'))
  .option('--traffic', 'sends it gentle traffic, without end')
  .parse()
  .opts<Options>();

let fleet: Fleet | undefined;
let demo: DemoTraffic | undefined;
let isStopping = false;

try {
  await refuseTakenPorts();
  await start();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

async function start(): Promise<void> {
  const { workers, port, policy, overlap, events, sketch } = options;
  const routerArgs = [...SHORT_PATIENCE];
  if (policy !== undefined) routerArgs.push('--policy', policy);
  if (overlap !== undefined) routerArgs.push('--overlap', overlap);
  fleet = await Fleet.start({
    workers,
    port,
    workerPort: port === 0 ? 0 : port + 1,
    routerArgs,
    events,
    sketch,
    onLine: (name, line) => {
      // Before, the error tells it; afterwards each only says that the others are gone.
      if (fleet !== undefined && !isStopping) console.log(`${name}: ${line}`);
    },
    onEnd,
  });
  // Not once: npm sends on to its script what the terminal sends to both.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop(0));
  const model = await modelOf(fleet.routerUrl);
  console.log(sheet(fleet, model));
  if (options.traffic) demo = new DemoTraffic(fleet.routerUrl, model);
}

async function stop(exitCode: number): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  await demo?.stop();
  await fleet?.stop();
  process.exit(exitCode);
}

function onEnd(name: string, how: string): void {
  if (name === 'router') {
    console.error(`the router ended (${how}): all is stopped`);
    stop(1);
  } else {
    bringBack(name, how);
  }
}

async function bringBack(name: string, how: string): Promise<void> {
  console.log(`${name} ended (${how}): it starts again in ${PAUSE_MS / 1000} s`);
  await sleep(PAUSE_MS);
  if (isStopping) return;
  try {
    await fleet?.revive(name);
    console.log(`${name} is back`);
  } catch (error) {
    bringBack(name, (error as Error).message);
  }
}

async function refuseTakenPorts(): Promise<void> {
  const { port, workers } = options;
  if (port === 0) return;
  for (let each = port; each <= port + workers; each++) {
    const trouble = await troubleWith(each);
    if (trouble === undefined) continue;
    const isTaken = trouble.code === 'EADDRINUSE';
    throw new Error(
      `port ${each} ${isTaken ? 'is taken' : `cannot be used (${trouble.code})`}. ` +
        `The router and its ${workers} workers have ports in a row: choose the first with --port, or --port 0 for any.`,
    );
  }
}

function troubleWith(port: number): Promise<NodeJS.ErrnoException | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', resolve);
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(undefined)));
  });
}
