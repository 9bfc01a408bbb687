import { Command } from 'commander';
import { blockSize } from './events-options.js';
import { fileName } from './options.js';

export interface EventsApplyFlags {
  blockSize?: number;
  json?: boolean;
}

const NOTES = `
The recording is what kvidx events record wrote, plain or gzip. The index has the block size of the first store, unless
--block-size says otherwise; stores of another size are refused, and counted; if all are, the exit
status is 1.

A number that does not rise is a new life of its engine, which begins with an empty cache. Where numbers are left out the
index may differ from what the engine held; the output says so.

Examples:
  $ kvidx events apply night.kvev.gz
  $ kvidx events apply night.kvev.gz --json | jq '.ranks[] | {worker, rank, resident_blocks, missing}'`;

export function eventsApplyCommand(): Command {
  return new Command('apply')
    .description('rebuild an index from a recording, and say what came and what it holds')
    .argument('<recording>', 'a file, or - for standard input', fileName())
    .option(
      '--block-size <tokens>',
      'tokens a block of the index (default: that of the first store)',
      blockSize,
    )
    .option('--json', 'print one JSON object instead of tables')
    .addHelpText('after', NOTES)
    .action(async (recording: string, flags: EventsApplyFlags) => {
      await (await import('./run-events-apply.js')).runEventsApply(recording, flags);
    });
}
