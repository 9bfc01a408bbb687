import { resolve } from 'node:path';
import { Argument, Command } from 'commander';
import { catalogue, chosenScenarios } from '../../bench/catalogue.js';
import { fileName, integerFrom } from './options.js';
import { isSameFile } from './out-file.js';
import { isReadOnce } from './rereadable.js';

export interface BenchFlags {
  list?: boolean;
  quick?: boolean;
  json?: boolean;
  out?: string;
  trace?: string;
  filter?: string;
  launches?: number;
  from?: string;
  compare?: string;
  plot?: string;
}

const NOTES = `
Each scenario runs in a process of its own, and that several times: a figure is the median of these launches, ± half of
what they are apart. Rivals take turns within one run: compare ratios, not nanoseconds of different machines. Answers are
asserted to be equal before anything is timed.

--compare sets the quietest round of each figure against that of an earlier run on the same machine, and says what
changed by more than the noise. What seems to have changed is measured once more before it is told.

Examples:
  $ kvidx bench --quick
  $ kvidx bench --quick --out before.json
  $ kvidx bench --quick --compare before.json
  $ kvidx bench hash index --plot figures.html
  $ kvidx bench index --filter overlap --json
  $ kvidx bench ingest memory --trace trace.jsonl.gz
  $ kvidx bench --from after.json --compare before.json`;

export function benchCommand(): Command {
  const names = catalogue.map(({ name }) => name);
  return new Command('bench')
    .description('how fast this machine hashes and answers, against plainer ways to do the same')
    .addArgument(new Argument('[scenario...]', 'which to run (default: all but soak)').choices(names))
    .option('--list', 'list the scenarios and run none')
    .option(
      '--quick',
      'small sizes and short rounds: all scenarios in a minute, what changed (--compare) in one more',
    )
    .option('--filter <text>', 'only figures whose name contains this, in capitals or not')
    .option('--launches <n>', 'processes that each scenario runs in (default: 3)', integerFrom(1, 100))
    .option('--json', 'print one JSON object instead of tables')
    .option('--out <file>', 'write the JSON object to a file as well', fileName('--out'))
    .option('--compare <file>', 'what changed since the run whose --out this is', fileName('--compare'))
    .option('--plot <file>', 'draw bars and histograms of latencies into an HTML page', fileName('--plot'))
    .option('--from <file>', 'run nothing: print, compare or draw what --out wrote', fileName('--from'))
    .option(
      '--trace <file>',
      'the trace that apc, events, ingest, memory and sketch replay (default: a small made-up one)',
      fileName('--trace'),
    )
    .addHelpText('after', NOTES)
    .action(async (scenarios: string[], flags: BenchFlags, command: Command) => {
      const wrong = contradiction(scenarios, flags);
      if (wrong !== undefined) command.error(`error: ${wrong}`);
      await (await import('./run-bench.js')).runBench(scenarios, flags);
    });
}

/** What of these does not go together. */
function contradiction(scenarios: readonly string[], flags: BenchFlags): string | undefined {
  const { trace, out, plot, from, compare } = flags;
  if (trace !== undefined && !chosenScenarios(scenarios).some(({ replaysTrace }) => replaysTrace)) {
    return `--trace has no part in this: no trace is replayed by ${scenarios.join(' and ')}`;
  }
  if (trace !== undefined && isReadOnce(trace)) {
    return '--trace takes a file: each launch of a scenario is a process of its own, which reads it';
  }
  const running = (['quick', 'trace', 'launches'] as const).find((flag) => flags[flag] !== undefined);
  if (from !== undefined && running !== undefined)
    return `--${running} has no part in --from: nothing is run`;
  const read = { trace, from, compare };
  const written = { out, plot };
  for (const [option, file] of Object.entries(written)) {
    for (const [source, input] of Object.entries(read)) {
      // A baseline may be replaced by the run that was compared with it.
      if (option === 'out' && source === 'compare') continue;
      if (file !== undefined && input !== undefined && isSameFile(input, file)) {
        return `--${option} ${file} is the file of --${source}, which it would overwrite`;
      }
    }
  }
  if (out !== undefined && plot !== undefined && (resolve(out) === resolve(plot) || isSameFile(out, plot))) {
    return '--out and --plot are one file';
  }
  return undefined;
}
