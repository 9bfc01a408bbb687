// What a router adds to the latency of a direct call: the same kind of sessions on either path, in turns, in one run.
//
//   npm run example:openai-router:load
import { Presets, SingleBar } from 'cli-progress';
import { Command } from 'commander';
import { Fleet } from './fleet/processes.js';
import { integer } from './integer-option.js';
import { measure } from './load/measure.js';
import { reportText } from './load/report.js';

interface Options {
  readonly streams: number;
  readonly rounds: number;
  readonly turns: number;
  readonly workers: number;
  readonly seed: number;
  readonly router?: string;
  readonly direct?: readonly string[];
  readonly json?: true;
}

/** Faster than most engines: prompts that wait for each other would vary by more than what is measured. */
const WORKER_ARGS = ['--prefill-tokens-per-s', '100000'];

const command = new Command('load')
  .description(
    'Measures what the router adds to the latency of a direct call, with streams of growing prompts.',
  )
  .option('--streams <number>', 'sessions at the same time', integer(1, 1024), 32)
  .option('--rounds <number>', 'of new sessions, on either path', integer(1, 1000), 4)
  .option('--turns <number>', 'of a session', integer(1, 100), 6)
  .option('--workers <number>', 'that are started, if no --router is given', integer(1, 64), 3)
  .option(
    '--seed <number>',
    'of lengths and words; by default another one each time',
    integer(0, 2 ** 31 - 1),
  )
  .option('--router <url>', 'one that runs already')
  .option('--direct <url...>', 'its workers')
  .option('--json', 'for programs')
  .parse();
const { seed = Date.now() % 2 ** 31, router, direct, json, ...numbers } = command.opts<Options>();
if ((router === undefined) !== (direct === undefined))
  command.error('error: --router and --direct go together');

let fleet: Fleet | undefined;
// Of both paths, with the round on each that warms up.
const bar = new SingleBar(
  { format: '{bar} {value} of {total} requests', stream: process.stderr, clearOnComplete: true },
  Presets.shades_classic,
);
try {
  if (router === undefined) fleet = await Fleet.start({ workers: numbers.workers, workerArgs: WORKER_ARGS });
  bar.start(2 * (numbers.rounds + 1) * numbers.streams * numbers.turns, 0);
  const report = await measure({
    ...numbers,
    seed,
    routerUrl: router ?? fleet!.routerUrl,
    workerUrls: direct ?? fleet!.workers.map(({ url }) => url),
    onAnswer: () => bar.increment(),
  });
  bar.stop();
  console.log(json ? JSON.stringify(report) : reportText(report));
  if (report.failures.length > 0) process.exitCode = 1;
} catch (error) {
  bar.stop();
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  await fleet?.stop();
}
