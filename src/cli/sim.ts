import { Command, Option } from 'commander';
import { MAX_SIM_BLOCK_SIZE, MAX_SIM_WORKERS } from '../sim/limits.js';
import { fileName, integerFrom } from './options.js';
import { policyHelp } from './policy-help.js';
import { policySpecs } from './policy-specs.js';
import { readsTrace, type TraceFlags } from './trace-command.js';

export interface SimFlags extends TraceFlags {
  clock: 'sequential';
  workers: number;
  policies: string[];
  blockSize?: number;
}

/** What tells policies apart where there is no load. */
const DEFAULT_POLICIES = [
  'kv-aware:overlap=fair:k=200:by=work',
  'kv-aware:overlap=exclusive',
  'kv-aware:overlap=exclusive:m=8',
  'kv-aware:overlap=set',
  'round-robin',
];

const notes = () => `
Each policy has a fleet of its own, and all of them see the same requests, in the order of the file. Caches never evict.
On the sequential clock every request finishes before the next is routed: load is always 0, so that policies which
spread by load alone may put everything on one worker. The output says where that is so.

The trace is JSON lines, hybrid / Bailian or Mooncake, plain or gzip. It is read twice; the rows of standard input or of
a pipe are kept in memory for that.

Policies, with their options (name:option=value:...):
${policyHelp()}

k (loadFloor) counts blocks: what it is worth in tokens depends on the block size of the trace.

Examples:
  $ kvidx sim trace.jsonl.gz
  $ kvidx sim trace.jsonl.gz --workers 8 --policies kv-aware:overlap=fair:k=200:by=work,lpwl,random:seed=7
  $ zcat trace.jsonl.gz | kvidx sim - --block-size 64 --json | jq '.rows[] | {policy, apc, balance}'`;

export function simCommand(): Command {
  const command = new Command('sim')
    .description('how much prefix-cache hit routing policies reach on a trace, and how evenly they spread it')
    .argument('<trace>', 'a file, or - for standard input', fileName())
    .addOption(
      new Option('--clock <name>', 'when requests are routed').choices(['sequential']).default('sequential'),
    )
    .option(
      '--workers <n>',
      `workers of each fleet, up to ${MAX_SIM_WORKERS}`,
      integerFrom(1, MAX_SIM_WORKERS),
      3,
    )
    .addOption(
      new Option('--policies <specs>', 'policies to compare, with commas between them')
        .argParser(policySpecs)
        .default(DEFAULT_POLICIES, DEFAULT_POLICIES.join(', ')),
    )
    .option(
      '--block-size <tokens>',
      'tokens a block (default: inferred from the rows)',
      integerFrom(1, MAX_SIM_BLOCK_SIZE),
    )
    .addHelpText('after', notes);
  return readsTrace<SimFlags>(command, async (trace, flags) => {
    await (await import('./run-sim.js')).runSim(trace, flags);
  });
}
