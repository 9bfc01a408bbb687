import { Command } from 'commander';
import { eventsApplyCommand } from './events-apply.js';
import { eventsFakeCommand } from './events-fake.js';
import { eventsRecordCommand } from './events-record.js';
import { eventsWatchCommand } from './events-watch.js';

const NOTES = `
Without an engine at hand, in two terminals:
  $ kvidx events fake
  $ kvidx events watch tcp://127.0.0.1:5557 --replay tcp://127.0.0.1:5558

With one:
  $ kvidx events watch w0=tcp://10.0.0.7:5557 --replay tcp://10.0.0.7:5558
  $ kvidx events record night.kvev.gz w0=tcp://10.0.0.7:5557 --replay tcp://10.0.0.7:5558
  $ kvidx events apply night.kvev.gz
  $ kvidx events watch --help`;

export function eventsCommand(): Command {
  return new Command('events')
    .description(
      'KV events of engines (vLLM, SGLang, TensorRT-LLM): watch, record, apply, or publish made-up ones',
    )
    .addCommand(eventsWatchCommand())
    .addCommand(eventsRecordCommand())
    .addCommand(eventsApplyCommand())
    .addCommand(eventsFakeCommand())
    .addHelpText('after', NOTES);
}
