import { Command } from 'commander';
import { integer } from '../integer-option.js';
import type { WorkerOptions } from './worker.js';

const PORT = integer(0, 65_535);

/** What is wrong is told on standard error, and ends the process. */
export function readOptions(argv: readonly string[]): WorkerOptions {
  return new Command('worker')
    .description(
      'An engine without a model: a real prefix cache, made-up answers, and the HTTP and KV events of vLLM.',
    )
    .option('--host <address>', 'where it listens', '127.0.0.1')
    .option('--port <number>', 'where it listens; 0: any that is free', PORT, 8001)
    .option('--name <name>', 'what it calls itself', 'w0')
    .option('--model <name>', 'what it serves', 'kvidx-fake')
    .option('--block-size <tokens>', 'tokens a block', integer(1, 4096), 24)
    .option('--capacity <blocks>', 'of its cache', integer(1, 2 ** 24), 20_000)
    .option(
      '--prefill-tokens-per-s <number>',
      'prompt tokens that are not cached',
      integer(100, 10 ** 9),
      20_000,
    )
    .option('--token-ms <ms>', 'from one token of an answer to the next', integer(1, 60_000), 10)
    .option('--max-running <requests>', 'under way at once; more are refused', integer(1, 10_000), 64)
    .option('--events-port <number>', 'publishes KV events; 0: any that is free', PORT)
    .option('--replay-port <number>', 'where lost events are asked for; 0: any that is free', PORT, 0)
    .option('--tokenizer <file>', "a model's tokenizer.json; default: o200k_base")
    .parse(argv, { from: 'user' })
    .opts<WorkerOptions>();
}
