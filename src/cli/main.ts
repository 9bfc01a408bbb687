#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { KvidxError } from '../errors.js';
import { packageRoot } from '../native/load.js';
import { apcCommand } from './apc.js';
import { benchCommand } from './bench.js';
import { CliError } from './cli-error.js';
import { synthCommand } from './synth.js';

const EXIT = { done: 0, failed: 1, usage: 2 } as const;

const EXAMPLES = `
Examples:
  $ kvidx apc trace.jsonl.gz
  $ kvidx synth --sessions 8 | kvidx apc -
  $ kvidx apc --help`;

function program(): Command {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  const kvidx = new Command('kvidx')
    .description(
      'how much prefix-cache hit a trace allows, and how fast this machine answers cache-aware routing',
    )
    .version(version)
    .exitOverride()
    .showHelpAfterError('(kvidx --help, or kvidx <command> --help, says what is possible)')
    .addHelpText('after', EXAMPLES);
  for (const command of [apcCommand(), synthCommand(), benchCommand()]) {
    kvidx.addCommand(command.copyInheritedSettings(kvidx));
  }
  return kvidx;
}

/** Says what failed and answers the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage; // it has spoken already
  const expected = error instanceof KvidxError || error instanceof CliError;
  process.stderr.write(`kvidx: ${expected ? error.message : ((error as Error).stack ?? error)}\n`);
  return EXIT.failed;
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.done); // a reader that has seen enough (`| head`) is no failure
  process.stderr.write(`kvidx: cannot write to standard output: ${error.message}\n`);
  process.exit(EXIT.failed);
});

try {
  await program().parseAsync();
} catch (error) {
  process.exitCode = report(error);
}
