import { Argument, Command } from 'commander';
import { catalogue } from '../../bench/catalogue.js';

export interface BenchFlags {
  list?: boolean;
  quick?: boolean;
  json?: boolean;
  out?: string;
}

const NOTES = `
Each scenario runs in a process of its own. Rivals take turns within one run, and what counts are their ratios: compare
those over time, not nanoseconds of different machines. Answers are asserted to be equal before anything is timed.

Examples:
  $ kvidx bench
  $ kvidx bench hash --json
  $ kvidx bench index --out figures.json`;

export function benchCommand(): Command {
  const names = catalogue.map(({ name }) => name);
  return new Command('bench')
    .description('how fast this machine hashes and answers, against plainer ways to do the same')
    .addArgument(new Argument('[scenario...]', 'which to run (default: all)').choices(names))
    .option('--list', 'list the scenarios and run none')
    .option('--quick', 'small sizes and short rounds: shows that it works, measures little')
    .option('--json', 'print one JSON object instead of tables')
    .option('--out <file>', 'write the JSON object to a file as well')
    .addHelpText('after', NOTES)
    .action(async (scenarios: string[], flags: BenchFlags) =>
      (await import('./run-bench.js')).runBench(scenarios, flags),
    );
}
