import { Argument, Command } from 'commander';
import { catalogue, chosenScenarios } from '../../bench/catalogue.js';
import { fileName } from './options.js';
import { isSameFile } from './out-file.js';

export interface BenchFlags {
  list?: boolean;
  quick?: boolean;
  json?: boolean;
  out?: string;
  trace?: string;
}

const NOTES = `
Each scenario runs in a process of its own. Rivals take turns within one run, and what counts are their ratios: compare
those over time, not nanoseconds of different machines. Answers are asserted to be equal before anything is timed.

Examples:
  $ kvidx bench
  $ kvidx bench hash --json
  $ kvidx bench index --out figures.json
  $ kvidx bench ingest memory --trace trace.jsonl.gz`;

export function benchCommand(): Command {
  const names = catalogue.map(({ name }) => name);
  return new Command('bench')
    .description('how fast this machine hashes and answers, against plainer ways to do the same')
    .addArgument(new Argument('[scenario...]', 'which to run (default: all but soak)').choices(names))
    .option('--list', 'list the scenarios and run none')
    .option('--quick', 'small sizes and short rounds: shows that it works, measures little')
    .option('--json', 'print one JSON object instead of tables')
    .option('--out <file>', 'write the JSON object to a file as well', fileName('--out'))
    .option(
      '--trace <file>',
      'the trace that ingest, memory and sketch replay (default: a small made-up one)',
      fileName('--trace'),
    )
    .addHelpText('after', NOTES)
    .action(async (scenarios: string[], flags: BenchFlags, command: Command) => {
      const { trace, out } = flags;
      if (trace !== undefined && !chosenScenarios(scenarios).some(({ replaysTrace }) => replaysTrace)) {
        command.error(`error: --trace has no part in this: ${scenarios.join(' and ')} replay no trace`);
      }
      if (trace === '-') {
        command.error('error: --trace takes a file: scenarios are processes of their own, which read it');
      }
      if (trace !== undefined && out !== undefined && isSameFile(trace, out)) {
        command.error(`error: --out ${out} is the trace itself, which it would overwrite`);
      }
      await (await import('./run-bench.js')).runBench(scenarios, flags);
    });
}
