import { Command, InvalidArgumentError, Option } from 'commander';
import { integer } from '../integer-option.js';

/** An engine, and where it tells what it caches. */
export interface WorkerPlace {
  readonly name: string;
  readonly url: string;
  readonly events?: string;
  readonly replay?: string;
}

export interface RouterOptions {
  readonly worker: readonly WorkerPlace[];
  readonly host: string;
  readonly port: number;
  readonly blockSize: number;
  /** Undefined: that of the library. */
  readonly policy?: string;
  readonly capacity?: number;
  readonly sketch?: string;
  readonly tokenizer?: string;
  readonly maxBodyMb: number;
  /** Of one request. */
  readonly maxAttempts: number;
  readonly firstByteMs: number;
  readonly answerMs: number;
  readonly idleMs: number;
  readonly healthEveryMs: number;
  readonly drainMs: number;
  /** An API key of the workers, for the router's own questions; those of clients carry theirs. */
  readonly workerKey?: string;
  readonly logLevel: string;
}

/** Not an option: other users of the machine see what a command line holds. */
const KEY = 'KVIDX_WORKER_KEY';
const MAX_MS = 2 ** 31 - 1;

export function readOptions(argv: readonly string[]): RouterOptions {
  const command = new Command('router')
    .description('An OpenAI-compatible router that sends each request where its prompt is cached.')
    .requiredOption(
      '--worker <place>',
      'an engine: URL[,name=w0][,events=tcp://…][,replay=tcp://…]; once for each',
      collectPlace,
    )
    .option('--host <address>', 'where it listens', '127.0.0.1')
    .option('--port <number>', 'where it listens; 0: any that is free', integer(0, 65_535), 8080)
    .option('--block-size <tokens>', 'tokens a block: that of the engines', integer(1, 4096), 24)
    .option('--policy <spec>', "kvidx sim --help lists them; default: that of kvidx's Router")
    .addOption(
      new Option('--overlap <kind>', 'kv-aware with this overlap and no load floor')
        .choices(['set', 'prefix', 'exclusive', 'fair'])
        .conflicts('policy'),
    )
    .option('--capacity <blocks>', 'of a KV cache, where it is estimated', integer(1, 2 ** 32 - 1))
    .option('--sketch <url>', 'redis://…: follow what sidecars publish of the workers')
    .option('--tokenizer <file>', "the model's tokenizer.json; default: o200k_base")
    .option('--max-body-mb <number>', 'larger requests are refused', integer(1, 1024), 8)
    .option(
      '--max-attempts <number>',
      'workers that a request is tried on: one that kills engines must not reach all of them',
      integer(1, 1000),
      3,
    )
    .option(
      '--first-byte-ms <ms>',
      'a worker that begins no stream for so long is given up',
      integer(1, MAX_MS),
      120_000,
    )
    .option('--idle-ms <ms>', 'the same in the middle of a stream', integer(1, MAX_MS), 30_000)
    .option('--answer-ms <ms>', 'the same for an answer in one piece', integer(1, MAX_MS), 600_000)
    .option('--health-every-ms <ms>', 'how often workers are looked at', integer(10, MAX_MS), 1000)
    .option('--drain-ms <ms>', 'after SIGTERM requests may go on for so long', integer(0, MAX_MS), 10_000)
    .addOption(
      new Option('--log-level <level>', 'what is told on standard error')
        .choices(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
        .default('warn'),
    )
    .addHelpText(
      'after',
      `
Environment:
  ${KEY}  an API key of the workers, to ask them for their models; requests carry their client's key

Examples:
  router --worker http://10.0.0.7:8000 --worker http://10.0.0.8:8000
  router --block-size 16 --tokenizer ./tokenizer.json \\
    --worker http://10.0.0.7:8000,events=tcp://10.0.0.7:5557,replay=tcp://10.0.0.7:5558`,
    )
    .parse(argv, { from: 'user' });
  const { overlap, ...options } = command.opts<RouterOptions & { overlap?: string }>();
  const workerKey = process.env[KEY];
  if (workerKey && !/^[!-~]+$/.test(workerKey))
    command.error(`error: ${KEY} does not fit into an HTTP header`);
  return {
    ...options,
    ...(overlap !== undefined && { policy: `kv-aware:overlap=${overlap}` }),
    ...(workerKey && { workerKey }),
  };
}

function collectPlace(text: string, before: readonly WorkerPlace[] = []): WorkerPlace[] {
  const [url, ...parts] = text.split(',');
  const given = new Map<string, string>();
  for (const part of parts) {
    const [key, value] = part.split(/=(.*)/s);
    if (!['name', 'events', 'replay'].includes(key!) || !value || given.has(key!)) {
      throw new InvalidArgumentError(`"${part}" is not one of name=, events= and replay=, each once.`);
    }
    given.set(key!, value);
  }
  const { name = `w${before.length}`, events, replay } = Object.fromEntries(given);
  if (!/^[!-~]+$/.test(name)) {
    throw new InvalidArgumentError(`The name "${name}" does not fit into an HTTP header.`);
  }
  if (before.some((place) => place.name === name)) {
    throw new InvalidArgumentError(`Two workers are named ${name}.`);
  }
  if (replay !== undefined && events === undefined) {
    throw new InvalidArgumentError('replay= goes with events=.');
  }
  return [...before, { name, url: origin(url!), ...(events && { events }), ...(replay && { replay }) }];
}

function origin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`) {
    throw new InvalidArgumentError(`"${text}" is not of the form http://host:port.`);
  }
  return url.origin;
}
