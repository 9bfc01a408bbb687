import { Command } from 'commander';
import { MAX_CURVE_SIZES } from '../analysis/limits.js';
import { cacheSizes, fileName, integerFrom } from './options.js';
import { readsTrace, type TraceFlags } from './trace-command.js';

export interface ApcFlags extends TraceFlags {
  blockSize?: number;
  curve?: number[] | 'auto';
  kvBytesPerToken?: number;
  sharedMinSessions: number;
}

const NOTES = `
The trace is JSON lines, hybrid / Bailian or Mooncake, plain or gzip; both are found out from the content. Requests
count in the order of the file. Every figure is printed with its definition.

Bytes a token for --kv-bytes-per-token: 2 x layers x KV heads x head size x bytes a number (Qwen3-30B-A3B: 98304). It
adds to the tables only; in JSON a size is blocks x block_size x bytes a token.

Examples:
  $ kvidx apc trace.jsonl.gz
  $ kvidx apc trace.jsonl.gz --curve auto --kv-bytes-per-token 98304
  $ zcat trace.jsonl.gz | kvidx apc - --block-size 64 --json | jq .apc_upper_any_session`;

export function apcCommand(): Command {
  const command = new Command('apc')
    .description(
      'the APC upper bound of a trace: which part of its prompt tokens a perfect prefix cache would hold',
    )
    .argument('<trace>', 'a file, or - for standard input', fileName())
    .option(
      '--block-size <tokens>',
      'tokens a block (default: inferred from the rows)',
      integerFrom(1, 2 ** 20),
    )
    .option(
      '--curve <blocks>',
      `hit rate of an LRU cache by size: up to ${MAX_CURVE_SIZES} sizes with commas, or auto`,
      cacheSizes,
    )
    .option(
      '--kv-bytes-per-token <bytes>',
      'print cache sizes in GiB as well (in tables)',
      integerFrom(1, 2 ** 40),
    )
    .option(
      '--shared-min-sessions <n>',
      'sessions that make a first block shared',
      integerFrom(1, 2 ** 32 - 1),
      8,
    )
    .addHelpText('after', NOTES);
  return readsTrace<ApcFlags>(command, async (trace, flags) => {
    await (await import('./run-apc.js')).runApc(trace, flags);
  });
}
