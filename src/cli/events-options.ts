import { type Command, InvalidArgumentError, Option } from 'commander';
import { endpointOfRank } from '../events/zmq/endpoint.js';
import type { FollowOptions } from '../events/zmq/types.js';
import { MAX_BLOCK_SIZE } from '../hash/limits.js';
import { MAX_DELAY_MS } from '../validate.js';
import { integerFrom } from './options.js';

/** More ranks than an engine has, and few enough sockets. */
export const MAX_RANKS = 64;

/** `[name=]endpoint` as it was given. */
export interface NamedEndpoint {
  readonly name: string | undefined;
  readonly endpoint: string;
}

/** One engine to follow. */
export interface Engine {
  readonly worker: string;
  readonly follow: FollowOptions;
}

/** Options of the commands that listen to engines. */
export interface ListenFlags {
  replay?: NamedEndpoint[];
  ranks: number;
  topic: string;
  bind?: boolean;
  for?: number;
}

export const ENGINE_NOTES = `
An engine is [name=]endpoint, such as tcp://10.0.0.7:5557 or w0=tcp://10.0.0.7:5557; without a name it is called by its
address. Rank r publishes at port + r, and replays at the port of --replay + r. Without --replay a message that was missed
is lost, and all that was sent before this command started: the first --replay belongs to the first engine and so on, or
to the engine that it names (--replay w0=tcp://10.0.0.7:5558).

vLLM:   --kv-events-config '{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:5557",
          "replay_endpoint":"tcp://*:5558"}'
SGLang: --kv-events-config '{"publisher":"zmq","endpoint":"tcp://*:5557","replay_endpoint":"tcp://*:5558"}'
An engine whose own endpoint names a host connects instead of listening: use --bind, with an endpoint of this machine.
With more than one rank leave room between the two ports.`;

/** Gives a command the options that all which listen to engines have. */
export function listens(command: Command): Command {
  return command
    .argument('<endpoint...>', 'engines to listen to: [name=]endpoint', namedEndpoint)
    .option(
      '--replay <endpoint>',
      'where an engine replays what was missed; once for each engine (default: nowhere)',
      namedEndpoint,
    )
    .option('--ranks <n>', 'data-parallel ranks of each engine', integerFrom(1, MAX_RANKS), 1)
    .addOption(new Option('--topic <prefix>', 'listen to topics that begin so only').default('', 'to all'))
    .option('--bind', 'listen at the endpoint, for engines that connect');
}

/** A parser that gathers what it is given. */
function namedEndpoint(text: string, before: NamedEndpoint[] = []): NamedEndpoint[] {
  const [, name, endpoint] = /^(?:(.*?)=)?(\w+:\/\/.*)$/s.exec(text) ?? [];
  if (endpoint === undefined || name === '') {
    throw new InvalidArgumentError('Give an endpoint such as tcp://127.0.0.1:5557, or name=endpoint.');
  }
  try {
    endpointOfRank('it', endpoint, 0, true);
  } catch (error) {
    throw new InvalidArgumentError(`${capitalized((error as Error).message)}.`);
  }
  return [...before, { name, endpoint }];
}

/** Brings together what was given for each engine; ends the command where it does not fit together. */
export function enginesOf(
  endpoints: readonly NamedEndpoint[],
  flags: ListenFlags,
  command: Command,
): Engine[] {
  const { replay: replays = [], ranks, topic, bind = false } = flags;
  const names = endpoints.map(({ name, endpoint }) => name ?? endpoint.replace(/^tcp:\/\//, ''));
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    command.error(`error: two engines are called ${twice}: name them, as in w0=tcp://127.0.0.1:5557`);
  }
  const unnamed = replays.filter(({ name }) => name === undefined);
  const stray = replays.find(({ name }) => name !== undefined && !names.includes(name));
  if (stray !== undefined) command.error(`error: --replay names ${stray.name}, and no engine is called so`);
  if (unnamed.length > endpoints.length) {
    command.error(`error: --replay was given ${unnamed.length} times, for ${endpoints.length} engines`);
  }
  return endpoints.map(({ endpoint }, i) => {
    const worker = names[i]!;
    const replay = replays.find(({ name }) => name === worker) ?? unnamed[i];
    checkReach(endpoint, ranks, bind, command);
    if (replay !== undefined) checkReach(replay.endpoint, ranks, false, command);
    const replayEndpoint = replay === undefined ? {} : { replayEndpoint: replay.endpoint };
    return { worker, follow: { endpoint, ranks, topic, bind, ...replayEndpoint } };
  });
}

function checkReach(endpoint: string, ranks: number, isBound: boolean, command: Command): void {
  try {
    endpointOfRank('the endpoint', endpoint, ranks - 1, isBound);
  } catch (error) {
    command.error(`error: ${(error as Error).message}`);
  }
}

/** A parser of a number from `lo` to `hi`, fractions too. */
export function numberFrom(lo: number, hi: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+(\.\d+)?$/.test(text) || value < lo || value > hi) {
      throw new InvalidArgumentError(`Give a number from ${lo} to ${hi}.`);
    }
    return value;
  };
}

/** A parser of a time that a timer can wait. */
export const seconds = numberFrom(0.01, Math.floor(MAX_DELAY_MS / 1000));

export const blockSize = integerFrom(1, MAX_BLOCK_SIZE);

function capitalized(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}`;
}
