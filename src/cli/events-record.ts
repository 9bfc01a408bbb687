import { Command } from 'commander';
import {
  ENGINE_NOTES,
  enginesOf,
  type ListenFlags,
  listens,
  type NamedEndpoint,
  seconds,
} from './events-options.js';
import { fileName, integerFrom } from './options.js';

export interface EventsRecordFlags extends ListenFlags {
  messages?: number;
  json?: boolean;
}

const NOTES = `
Each stream is recorded in order and no message twice; what was missed is replayed where the engine can. It ends after
--for seconds, after --messages, or at Ctrl-C, with nothing lost. A file that is there is replaced by the first message;
if none is heard, nothing is written and the exit status is 1. kvidx events apply reads it.
${ENGINE_NOTES}

Examples:
  $ kvidx events record night.kvev.gz w0=tcp://10.0.0.7:5557 --replay tcp://10.0.0.7:5558
  $ kvidx events record sample.kvev tcp://127.0.0.1:5557 --messages 1000`;

export function eventsRecordCommand(): Command {
  const command = new Command('record')
    .description('write the KV events of engines to a file')
    .argument('<file>', 'the file to write, gzip when it ends in .gz', fileName());
  return listens(command)
    .option('--for <seconds>', 'end after so long', seconds)
    .option('--messages <n>', 'end after so many', integerFrom(1, Number.MAX_SAFE_INTEGER))
    .option('--json', 'print one JSON object in the end')
    .addHelpText('after', NOTES)
    .action(async (file: string, endpoints: NamedEndpoint[], flags: EventsRecordFlags, command: Command) => {
      if (file === '-' || /:\/\//.test(file))
        command.error(`error: first the file to write, then the endpoints; ${file} is no file`);
      const engines = enginesOf(endpoints, flags, command);
      await (await import('./run-events-record.js')).runEventsRecord(file, engines, flags);
    });
}
