import { encodeBatch, FakePublisher } from 'kvidx';
import { PromptTokenizer } from '../openai/prompt.js';
import { loadTokenizer } from '../openai/tokenizer.js';
import { Engine, type EngineOptions } from './engine.js';
import { Modes } from './modes.js';
import { createServer } from './server.js';

export interface WorkerOptions extends Omit<EngineOptions, 'onEvents'> {
  readonly name: string;
  readonly model: string;
  readonly host: string;
  /** 0: any that is free; as the other ports. */
  readonly port: number;
  /** Undefined: no KV events. */
  readonly eventsPort?: number | undefined;
  readonly replayPort?: number | undefined;
  /** A file; undefined: o200k_base. */
  readonly tokenizer?: string | undefined;
}

/** A worker that listens. */
export interface Worker {
  readonly url: string;
  /** Where it publishes and replays KV events. */
  readonly events?: string | undefined;
  readonly replay?: string | undefined;
  /** Answers under way are cut off. */
  close(): Promise<void>;
}

/** `die` ends the process. */
export async function startWorker(options: WorkerOptions, die: () => void): Promise<Worker> {
  const { name, model, host, port } = options;
  const prompts = new PromptTokenizer(await loadTokenizer(options.tokenizer));
  const sockets = await publisherOf(options);
  const engine = new Engine({
    ...options,
    onEvents:
      sockets &&
      ((events) => sockets.publish(encodeBatch('vllm-map', { timestampMs: Date.now(), dpRank: 0, events }))),
  });
  const server = createServer({ name, model, engine, prompts, modes: new Modes(die) });
  const close = async () => {
    await server.close();
    await sockets?.close();
  };
  try {
    const url = await server.listen({ host, port });
    return { url, events: sockets?.endpoint, replay: sockets?.replayEndpoint, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function publisherOf({
  host,
  eventsPort,
  replayPort,
}: WorkerOptions): Promise<FakePublisher | undefined> {
  return eventsPort === undefined ? undefined : FakePublisher.bind({ host, port: eventsPort, replayPort });
}
