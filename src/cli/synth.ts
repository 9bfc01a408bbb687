import { Command } from 'commander';
import { DISTRIBUTIONS } from '../trace/synth-distributions.js';
import { fileName, integerFrom } from './options.js';

export interface SynthFlags {
  seed: number;
  sessions: number;
  turns: number;
  agents: number;
  maxInput: number;
  blockSize: number;
  out?: string;
}

const MEANINGS: Record<keyof typeof DISTRIBUTIONS, string> = {
  turns: 'turns a session, as a multiple of --turns',
  boilerplate: "tokens of an agent's system prompt and tools",
  firstMessage: "tokens of a session's first message",
  answer: 'tokens of an answer; the next prompt contains it',
  result: 'tokens that tools and the user add before the next request',
  summary: "tokens that replace a session's history when it is compacted",
  msPerToken: 'milliseconds a token of an answer takes',
  thinkMs: "milliseconds from an answer's end to the next request",
  startGapMs: 'milliseconds between the starts of two sessions',
};

function quantiles(name: keyof typeof DISTRIBUTIONS): string {
  return DISTRIBUTIONS[name].map(([p, value]) => `${value} (${p * 100} %)`).join(', ');
}

const NOTES = `
A prompt is the boilerplate of the session's agent, a first message, and then turn by turn the answer before and what
tools returned. Agent k (from 0) runs with weight 1 / (k + 1). Drawn from these quantiles, linear in between:
${(Object.keys(MEANINGS) as (keyof typeof DISTRIBUTIONS)[]).map((name) => `  ${MEANINGS[name]}\n      ${quantiles(name)}`).join('\n')}

Examples:
  $ kvidx synth --seed 7 --sessions 100 --out agents.jsonl.gz
  $ kvidx synth --sessions 8 | kvidx apc -`;

export function synthCommand(): Command {
  return new Command('synth')
    .description(
      'make up a trace of coding agents (hybrid JSON lines); the same options give the same trace everywhere',
    )
    .option('--seed <n>', 'seed of the random numbers', integerFrom(0, 2 ** 32 - 1), 1)
    .option('--sessions <n>', 'sessions', integerFrom(1, 1_000_000), 24)
    .option('--turns <n>', 'median of the turns a session', integerFrom(1, 10_000), 40)
    .option(
      '--agents <n>',
      'kinds of agent; sessions of one kind share its boilerplate',
      integerFrom(1, 1_000),
      3,
    )
    .option(
      '--max-input <tokens>',
      'longest prompt; beyond it a session is compacted',
      integerFrom(1, 2 ** 32 - 1),
      160_000,
    )
    .option(
      '--block-size <tokens>',
      'tokens a block; only full blocks get an id',
      integerFrom(1, 2 ** 20),
      64,
    )
    .option(
      '--out <file>',
      'write to a file, gzip when it ends in .gz (default: standard output)',
      fileName('--out'),
    )
    .addHelpText('after', NOTES)
    .action(async (flags: SynthFlags) => (await import('./run-synth.js')).runSynth(flags));
}
