#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { packageRoot } from '../native/load.js';
import { EXIT, report } from './report.js';

const EXAMPLES = `
Examples:
  $ kvidx apc trace.jsonl.gz
  $ kvidx sim trace.jsonl.gz --workers 8
  $ kvidx synth --sessions 8 | kvidx apc -
  $ kvidx sketch build --trace trace.jsonl.gz --out trace.kvsk
  $ kvidx events watch tcp://127.0.0.1:5557 --replay tcp://127.0.0.1:5558
  $ kvidx apc --help`;

/** Each command, in the order of the help. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  apc: async () => (await import('./apc.js')).apcCommand(),
  sim: async () => (await import('./sim.js')).simCommand(),
  sketch: async () => (await import('./sketch.js')).sketchCommand(),
  events: async () => (await import('./events.js')).eventsCommand(),
  synth: async () => (await import('./synth.js')).synthCommand(),
  bench: async () => (await import('./bench.js')).benchCommand(),
};

/** The command that is asked for alone: to load them all takes as long as `apc` of a short trace. Else all of them. */
function commands([name = '']: readonly string[]): Promise<Command[]> {
  const asked = Object.hasOwn(COMMANDS, name) ? [COMMANDS[name]!] : Object.values(COMMANDS);
  return Promise.all(asked.map((make) => make()));
}

async function program(): Promise<Command> {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  const kvidx = new Command('kvidx')
    .description(
      'how much prefix-cache hit a trace allows, how much of it routing policies reach, how small a sketch of it is, what engines tell of theirs, and how fast this machine answers',
    )
    .version(version)
    .exitOverride()
    .showHelpAfterError('(kvidx --help, or kvidx <command> --help, says what is possible)')
    .addHelpText('after', EXAMPLES);
  for (const command of await commands(process.argv.slice(2))) {
    kvidx.addCommand(command);
    inherit(kvidx, command);
  }
  return kvidx;
}

/** Commands that were made apart exit and speak as the whole program does, and so do theirs. */
function inherit(parent: Command, command: Command): void {
  command.copyInheritedSettings(parent);
  for (const sub of command.commands) inherit(command, sub);
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return; // a reader that has seen enough (`| head`) is no failure
  process.stderr.write(`kvidx: cannot write to standard output: ${error.message}\n`);
  process.exit(EXIT.failed);
});

try {
  await (await program()).parseAsync();
} catch (error) {
  process.exitCode = report(error);
}
