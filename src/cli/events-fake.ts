import { Command, InvalidArgumentError, Option } from 'commander';
import { DIALECTS, type Dialect, type Layout } from '../events/fake/dialects.js';
import type { ReplayLayout } from '../events/fake/fake-publisher.js';
import { blockSize, MAX_RANKS, numberFrom } from './events-options.js';
import { fileName, integerFrom } from './options.js';

export interface TcpAddress {
  readonly host: string;
  readonly port: number;
}

export interface EventsFakeFlags {
  dialect: Dialect;
  endpoint: TcpAddress;
  replayEndpoint?: TcpAddress;
  ranks: number;
  trace?: string;
  traceBlockSize?: number;
  requests?: number;
  rate: number;
  capacity: number;
  offload: number;
  blockSize: number;
  replayLayout?: ReplayLayout;
  bufferSteps: number;
  drop: number;
  seed: number;
  topic: string;
  loop?: boolean;
  exit?: boolean;
  json?: boolean;
}

const MAX_BLOCKS = 2 ** 24;
const MAX_PORT = 65_535;

const MEANINGS: Record<Dialect, string> = {
  'vllm-first': 'v0.8: events as arrays of 6 items, no rank',
  'vllm-rank': 'with the rank of the engine',
  'vllm-medium': 'with the medium',
  'vllm-lora-name': 'with the name of the LoRA adapter',
  'vllm-extra-keys': 'v0.17: with extra keys (salts, images)',
  'vllm-group': 'with the group of layers',
  'vllm-spec': 'v0.22.1: with the kind of attention, 12 items',
  'vllm-map': 'v0.24: events as maps',
  'vllm-locality': 'main: with locality, ownership and session',
  'vllm-bytes': 'VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES=0: names of 32 bytes',
  'vllm-mixed': 'integers for the GPU, bytes for offloads',
  'sglang-6': 'the first: arrays of 6 items, no rank',
  'sglang-7': 'with rank and medium',
  'sglang-salted': 'v0.5.18: a salt in a map behind the items',
  'sglang-map': 'events as maps',
  tensorrt: "TensorRT-LLM's stream: maps, signed names",
};

const dialectList = Object.entries(MEANINGS)
  .map(([name, meaning]) => `  ${name.padEnd(16)} ${meaning}`)
  .join('\n');

const NOTES = `
There is no model behind it: it serves the requests of a trace from a prefix cache, whose least recently used blocks
leave first, and tells what it stores and evicts. Token ids are made up so that equal ids of a trace are equal tokens. A
session stays on its rank, a new one goes to the next. Needs the package zeromq (npm install zeromq).

It begins at once: who listens later asks for a replay of what it missed, which reaches back --buffer-steps messages.
When the trace is over it goes on answering replays, until Ctrl-C; with --exit it ends. --json prints what each rank
sent and holds, when the trace is over.

Rank r publishes at the port of --endpoint + r, and replays at that of --replay-endpoint + r. Port 0 takes a free one (of
one rank). --drop leaves messages out that have a number and can be replayed: a listener has gaps, and heals.

Dialects:
${dialectList}

Examples:
  $ kvidx events fake
  $ kvidx events fake --dialect sglang-7 --ranks 2 --drop 5 --loop
  $ kvidx events fake --capacity 2000 --offload 10000 --rate 50
  $ kvidx events fake --rate 0 --buffer-steps 100    # a replay that no longer reaches back`;

export function eventsFakeCommand(): Command {
  return new Command('fake')
    .description('publish KV events as an engine does, of the requests of a trace')
    .addOption(
      new Option('--dialect <name>', 'whose way to write events; see below')
        .choices(Object.keys(DIALECTS))
        .default('vllm-map'),
    )
    .addOption(
      new Option('--endpoint <tcp>', 'where rank 0 publishes')
        .argParser(tcpAddress)
        .default({ host: '127.0.0.1', port: 5557 }, 'tcp://127.0.0.1:5557'),
    )
    .option(
      '--replay-endpoint <tcp>',
      'where rank 0 replays (default: the first port behind those of the ranks)',
      tcpAddress,
    )
    .option('--ranks <n>', 'data-parallel ranks', integerFrom(1, MAX_RANKS), 1)
    .option(
      '--trace <file>',
      'whose requests it serves (default: a small one that comes with kvidx)',
      fileName('--trace'),
    )
    .option(
      '--trace-block-size <tokens>',
      'tokens a block of the trace (default: inferred from its rows)',
      blockSize,
    )
    .option(
      '--requests <n>',
      'how many, at most (default: the whole trace)',
      integerFrom(1, Number.MAX_SAFE_INTEGER),
    )
    .option('--rate <n>', 'requests a second; 0: as fast as it goes', numberFrom(0, 1_000_000), 4)
    .option('--capacity <blocks>', 'blocks that the GPU of a rank holds', integerFrom(1, MAX_BLOCKS), 20_000)
    .option(
      '--offload <blocks>',
      'blocks that its CPU holds, where the dialect tells of tiers',
      integerFrom(0, MAX_BLOCKS),
      0,
    )
    .option('--block-size <tokens>', 'tokens a block', blockSize, 16)
    .addOption(
      new Option('--replay-layout <name>', 'frames of a replay (default: those of the dialect)').choices([
        'vllm-old',
        'vllm-new',
      ]),
    )
    .option('--buffer-steps <n>', 'messages that can be replayed', integerFrom(1, MAX_BLOCKS), 10_000)
    .option('--drop <percent>', 'of the messages are not sent, by chance', numberFrom(0, 100), 0)
    .option('--seed <n>', 'of that chance, and of the names of blocks', integerFrom(0, 2 ** 32 - 1), 1)
    .addOption(new Option('--topic <topic>', 'topic of the messages').default('', 'the empty one'))
    .option('--loop', 'serve the trace again and again')
    .option('--exit', 'end when the trace is over (with --loop: after --requests)')
    .option('--json', 'print one JSON object when the trace is over')
    .addHelpText('after', NOTES)
    .action(async (flags: EventsFakeFlags, command: Command) => {
      const { endpoint, ranks, dialect, offload, loop, exit, requests } = flags;
      if (loop && exit && requests === undefined) {
        command.error('error: --loop never ends, and --exit with it: leave one out, or give --requests');
      }
      if (offload > 0 && !tellsTiers(dialect)) {
        const names = Object.keys(MEANINGS).filter((name) => tellsTiers(name as Dialect));
        command.error(
          `error: --offload: dialect ${dialect} does not tell of tiers. These do: ${names.join(', ')}`,
        );
      }
      const replay = flags.replayEndpoint ?? defaultReplay(flags);
      for (const { port } of [endpoint, replay]) {
        if (port + ranks - 1 > MAX_PORT)
          command.error(`error: port ${port + ranks - 1} is none: the last is ${MAX_PORT}`);
        if (port === 0 && ranks > 1)
          command.error('error: port 0 is for one rank: give the first of several ports');
      }
      if (endpoint.port > 0 && Math.abs(endpoint.port - replay.port) < ranks) {
        command.error(
          'error: --endpoint and --replay-endpoint have ports in common: rank r uses port + r of both',
        );
      }
      await (await import('./run-events-fake.js')).runEventsFake({ ...flags, replayEndpoint: replay });
    });
}

function tellsTiers(dialect: Dialect): boolean {
  const { stored }: Layout = DIALECTS[dialect];
  return stored.some(({ name }) => name === 'medium');
}

function defaultReplay({ endpoint: { host, port }, ranks }: EventsFakeFlags): TcpAddress {
  return { host, port: port === 0 ? 0 : port + ranks };
}

function tcpAddress(text: string): TcpAddress {
  const [, host, digits] = /^tcp:\/\/(.+):(\d{1,5})$/.exec(text) ?? [];
  if (host === undefined || Number(digits) > MAX_PORT) {
    throw new InvalidArgumentError(
      'Give an address such as tcp://127.0.0.1:5557, or tcp://*:5557 for all interfaces.',
    );
  }
  return { host, port: Number(digits) };
}
