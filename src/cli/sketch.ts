import { Command, InvalidArgumentError, Option } from 'commander';
import { DEFAULT_BLOCK_SIZE, MAX_BLOCK_SIZE } from '../hash/limits.js';
import { checkTargetFpp, DEFAULT_TARGET_FPP } from '../sketch/sizing.js';
import { checkName } from '../validate.js';
import { fileName, integerFrom } from './options.js';
import { isSameFile } from './out-file.js';
import { parseHash } from './sketch-hashes.js';

export interface SketchBuildFlags {
  trace?: boolean;
  targetFpp: number;
  worker: string;
  session?: string;
  blockSize?: number;
  format: 'frame' | 'parquet';
  out: string;
  json?: boolean;
}

export interface SketchInspectFlags {
  test?: bigint[];
  hashes?: string;
  json?: boolean;
}

const NOTES = `
Examples:
  $ kvidx sketch build --trace examples/agentic-mini.jsonl.gz --out mini.kvsk
  $ kvidx sketch inspect mini.kvsk
  $ kvidx sketch build --help`;

const BUILD_NOTES = `
Hashes stand one a line, in decimal (negative ones in two's complement) or in hex behind 0x; # begins a comment. Of those
that are given repeatedly one counts.

With --trace the file is a trace: JSON lines, hybrid / Bailian or Mooncake. Its ids are chained, as kvidx apc and sim do,
so that a block is one with all that precedes it, and the sketch has all of them: what a worker holds that served the
whole trace and never evicted. Plain or gzip both.

A frame is what workers send to routers (KVSK: the filter, whose it is, how old, a checksum). A Parquet filter is the same
bits behind the header of Parquet files, which names nothing.

Examples:
  $ kvidx sketch build --trace examples/agentic-mini.jsonl.gz --out mini.kvsk
  $ seq 1000 | kvidx sketch build - --worker w0 --target-fpp 0.001 --out thousand.kvsk
  $ kvidx sketch build hashes.txt --format parquet --out hashes.bloom --json | jq .bytes_per_block`;

const INSPECT_NOTES = `
Frames (KVSK) and Parquet filters are told apart by their first bytes. All of a frame is checked; a Parquet filter has no
checksum. A delta frame has only the blocks of 256 bits that changed, so that no hashes can be tested against it.

The expected rate p of false positives is that of the bits as they are: the share of all possible hashes that they answer
yes to. An overlap by this sketch is then p / (1 - p) blocks too long on average (inflation), and never too short.

Examples:
  $ kvidx sketch inspect thousand.kvsk
  $ kvidx sketch inspect thousand.kvsk --test 1 2 0x3e8 5000
  $ kvidx sketch inspect thousand.kvsk --hashes hashes.txt --json | jq .tested.overlap_blocks`;

export function sketchCommand(): Command {
  return new Command('sketch')
    .description('Bloom sketches of what a worker holds: make one, look into one')
    .addCommand(buildCommand())
    .addCommand(inspectCommand())
    .addHelpText('after', NOTES);
}

function buildCommand(): Command {
  return new Command('build')
    .description('make a sketch of hashes, or of the blocks of a trace')
    .argument('<hashes>', 'a file, or - for standard input', fileName())
    .requiredOption(
      '--out <file>',
      'the file to write, or - for standard output where that is no terminal',
      fileName('--out'),
    )
    .option('--trace', 'the file is a trace: take all its different blocks')
    .option(
      '--target-fpp <rate>',
      'rate of false positives to size it for, 0.000001 to 0.5',
      rate,
      DEFAULT_TARGET_FPP,
    )
    .addOption(new Option('--format <name>', 'what to write').choices(['frame', 'parquet']).default('frame'))
    .option('--worker <name>', 'in a frame: whose blocks they are', nonEmpty, 'worker')
    .option('--session <name>', 'in a frame: the one session they belong to', nonEmpty)
    .option(
      '--block-size <tokens>',
      `in a frame: tokens a block (default: ${DEFAULT_BLOCK_SIZE}; inferred from the rows of a trace)`,
      integerFrom(1, MAX_BLOCK_SIZE),
    )
    .option(
      '--json',
      'print one JSON object instead of a table; with --out - both go to standard error, as the bytes go to standard output',
    )
    .addHelpText('after', BUILD_NOTES)
    .action(async (hashes: string, flags: SketchBuildFlags, command: Command) => {
      const { out, format, trace } = flags;
      if (out === '-' && process.stdout.isTTY) {
        command.error('error: --out - writes bytes, not for a terminal: give a file, or send them on');
      }
      if (isSameFile(hashes, out)) {
        command.error(`error: --out ${out} is the input itself, which it would overwrite`);
      }
      const inFrames = trace
        ? (['worker', 'session'] as const)
        : (['worker', 'session', 'blockSize'] as const);
      const idle = inFrames.find((name) => command.getOptionValueSource(name) === 'cli');
      if (format === 'parquet' && idle !== undefined) {
        const flag = idle === 'blockSize' ? 'block-size' : idle;
        command.error(`error: --${flag} has no part in this: a Parquet filter holds nothing but bits`);
      }
      await (await import('./run-sketch-build.js')).runSketchBuild(hashes, flags);
    });
}

function inspectCommand(): Command {
  return new Command('inspect')
    .description('show what a sketch says, how full it is and how often it is wrong; test hashes against it')
    .argument('<file>', 'a frame or a Parquet filter, or - for standard input', fileName())
    .option('--test <hash...>', 'which of these may be in it, and how many lead', testedHash)
    .option(
      '--hashes <file>',
      'the same of a file with a hash a line, or - for standard input',
      fileName('--hashes'),
    )
    .option('--json', 'print one JSON object instead of tables')
    .addHelpText('after', INSPECT_NOTES)
    .action(async (file: string, flags: SketchInspectFlags, command: Command) => {
      if (flags.test !== undefined && flags.hashes !== undefined) {
        command.error('error: give the hashes by --test or by --hashes, not both');
      }
      if (file === '-' && flags.hashes === '-') {
        command.error('error: the sketch and the hashes cannot both come from standard input');
      }
      await (await import('./run-sketch-inspect.js')).runSketchInspect(file, flags);
    });
}

function rate(text: string): number {
  return orRefuse('Give a number from 0.000001 to 0.5.', () => checkTargetFpp(Number(text)));
}

function nonEmpty(text: string): string {
  return orRefuse('Give a name.', () => checkName('name', text));
}

function testedHash(text: string, before: bigint[] = []): bigint[] {
  try {
    return [...before, parseHash(text)];
  } catch (error) {
    throw new InvalidArgumentError(
      error instanceof RangeError
        ? 'It does not fit 64 bits.'
        : 'Give a hash in decimal, or in hex behind 0x.',
    );
  }
}

function orRefuse<T>(hint: string, check: () => T): T {
  try {
    return check();
  } catch {
    throw new InvalidArgumentError(hint);
  }
}
