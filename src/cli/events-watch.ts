import { Command } from 'commander';
import {
  blockSize,
  ENGINE_NOTES,
  enginesOf,
  type ListenFlags,
  listens,
  type NamedEndpoint,
  seconds,
} from './events-options.js';

export interface EventsWatchFlags extends ListenFlags {
  blockSize?: number;
  interval: number;
  json?: boolean;
}

const NOTES = `
On a terminal the table is drawn again in its place, elsewhere printed at every interval. It ends at Ctrl-C, or after --for
seconds. Under the table stands what its marks mean and what to do about them.
${ENGINE_NOTES}

Columns:
  events/s, blocks/s   since the table before: blocks stored, removed and cleared; "catching up":
                       most messages came from a replay, not in this time
  gpu, cpu, …          blocks that are resident in a tier
  lag                  what the last live message was later than its engine's clock says: transport, and the clocks'
                       difference; - before the first, as replayed ones do not tell
  age                  since the last message
  gaps                 how often numbers jumped; what a replay brought is not missing
  repeats, restarts    messages that came twice; new lives of the engine (left out where there are none)
  state                ok: the index has what the engine holds; else why it may not

Examples:
  $ kvidx events watch tcp://127.0.0.1:5557 --replay tcp://127.0.0.1:5558
  $ kvidx events watch w0=tcp://10.0.0.7:5557 w1=tcp://10.0.0.8:5557 --ranks 8 --topic kv-events
  $ kvidx events watch tcp://127.0.0.1:5557 --for 10 --json | jq -c '.ranks[] | [.rank, .degraded, .resident_blocks]'`;

export function eventsWatchCommand(): Command {
  return listens(new Command('watch').description('show what engines tell by their KV events, as it comes'))
    .option(
      '--block-size <tokens>',
      'tokens a block of the index (default: that of the first store heard)',
      blockSize,
    )
    .option('--interval <seconds>', 'between two tables', seconds, 1)
    .option('--for <seconds>', 'end after so long', seconds)
    .option('--json', 'print one JSON object a line and interval instead of tables')
    .addHelpText('after', NOTES)
    .action(async (endpoints: NamedEndpoint[], flags: EventsWatchFlags, command: Command) => {
      const engines = enginesOf(endpoints, flags, command);
      await (await import('./run-events-watch.js')).runEventsWatch(engines, flags);
    });
}
