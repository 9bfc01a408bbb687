import { type Command, Option } from 'commander';
import { fileName } from './options.js';
import { isSameFile } from './out-file.js';

/** Options of every command that reads a trace and answers with one object. */
export interface TraceFlags {
  onError: 'fail' | 'skip';
  json?: boolean;
  out?: string;
}

/** Gives the command those options, last in its help, and what it does. `--out` never overwrites the trace. */
export function readsTrace<Flags extends TraceFlags>(
  command: Command,
  run: (trace: string, flags: Flags) => Promise<void>,
): Command {
  return command
    .addOption(
      new Option('--on-error <what>', 'bad rows: end with an error, or leave them out and count them')
        .choices(['fail', 'skip'])
        .default('fail'),
    )
    .option('--json', 'print one JSON object instead of tables')
    .option('--out <file>', 'write the JSON object to a file as well', fileName('--out'))
    .action(async (trace: string, flags: Flags) => {
      if (flags.out !== undefined && isSameFile(trace, flags.out)) {
        command.error(`error: --out ${flags.out} is the trace itself, which it would overwrite`);
      }
      await run(trace, flags);
    });
}
