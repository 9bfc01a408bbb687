import { join } from 'node:path';
import { DIALECTS, type Dialect } from '../events/fake/dialects.js';
import {
  encodeBatch,
  FakeEngine,
  FakePublisher,
  type FakePublisherOptions,
  type ReplayLayout,
  type TokenRequest,
  traceTokens,
} from '../events/fake/index.js';
import { loadZeroMq } from '../events/zeromq.js';
import { packageRoot } from '../native/load.js';
import { Random } from '../random.js';
import { counted, grouped } from '../text.js';
import { BlockSizeCheck } from '../trace/block-size.js';
import { TraceReader } from '../trace/trace-reader.js';
import type { TraceRow } from '../trace/types.js';
import { CliError } from './cli-error.js';
import { Ending } from './ending.js';
import type { EventsFakeFlags, TcpAddress } from './events-fake.js';
import { liveLine } from './live-text.js';
import { print } from './print.js';
import { readingProgress } from './progress.js';

type Flags = EventsFakeFlags & { readonly replayEndpoint: TcpAddress };

/** What `--json` prints of a rank. */
interface FakeRankJson {
  readonly rank: number;
  readonly endpoint: string;
  readonly replay_endpoint: string;
  readonly messages: number;
  /** Of these, those that were not sent. */
  readonly dropped: number;
  readonly held_blocks: { readonly gpu: number; readonly cpu: number };
}

export async function runEventsFake(flags: Flags): Promise<void> {
  await loadZeroMq('kvidx events fake');
  const { rows, blockSize } = await readRows(flags);
  const ranks: FakeRank[] = [];
  const ending = new Ending();
  try {
    for (let rank = 0; rank < flags.ranks; rank++) ranks.push(await FakeRank.start(flags, rank));
    say(invitation(ranks[0]!, flags));
    const served = await serve(requestsOf(rows, blockSize, flags), ranks, flags, ending);
    say(summary(ranks, served));
    if (flags.json)
      await print([
        `${JSON.stringify({ requests: served, ranks: ranks.map((rank) => rank.json()) }, null, 2)}\n`,
      ]);
    if (flags.exit || ending.isOver) return;
    say('the trace is over; replays are answered until Ctrl-C (--exit ends here)');
    await ending.wait();
  } finally {
    ending.end();
    for (const rank of ranks) await rank.close();
  }
}

async function readRows({
  trace: path = join(packageRoot(), 'examples/agentic-mini.jsonl.gz'),
  traceBlockSize,
}: Flags) {
  const rows: TraceRow[] = [];
  const sizes = new BlockSizeCheck(traceBlockSize);
  const progress = await readingProgress(`reading ${path}`);
  try {
    for await (const row of new TraceReader(path, { onProgress: progress.onProgress })) {
      sizes.add(row.inputLength, row.hashIds.length, row.line);
      rows.push(row);
    }
  } finally {
    progress.stop();
  }
  try {
    return { rows, blockSize: sizes.verdict(path).blockSize };
  } catch (error) {
    throw new CliError(`${(error as Error).message}\n(of a trace it is --trace-block-size here)`);
  }
}

function* requestsOf(
  rows: readonly TraceRow[],
  blockSize: number,
  { loop, requests = Number.POSITIVE_INFINITY }: Flags,
): Generator<TokenRequest> {
  let count = 0;
  do {
    for (const request of traceTokens(rows, blockSize)) {
      if (count++ === requests) return;
      yield request;
    }
  } while (loop);
}

/** Answers how many requests were served. */
async function serve(
  requests: Iterable<TokenRequest>,
  ranks: readonly FakeRank[],
  { rate }: Flags,
  ending: Ending,
): Promise<number> {
  const line = liveLine();
  const ranksOf = new Map<string, FakeRank>();
  const startMs = performance.now();
  let served = 0;
  for (const request of requests) {
    const dueMs = rate === 0 ? 0 : startMs + (served * 1000) / rate;
    if (dueMs > performance.now()) await ending.sleep(dueMs - performance.now());
    if (ending.isOver) break;
    const session = request.row.sessionId ?? `line ${request.row.line}`;
    const rank = ranksOf.get(session) ?? ranks[ranksOf.size % ranks.length]!;
    ranksOf.set(session, rank);
    await rank.serve(request);
    served++;
    line.draw(`${counted(served, 'request')}; ${ranks.map((each) => each.text()).join('; ')}`);
  }
  line.clear();
  return served;
}

/** One rank: a cache, and the sockets that tell of it. */
class FakeRank {
  readonly #engine: FakeEngine;
  readonly #publisher: FakePublisher;
  readonly #dropped: { count: number };

  private constructor(
    readonly dialect: Dialect,
    readonly rank: number,
    engine: FakeEngine,
    publisher: FakePublisher,
    dropped: { count: number },
  ) {
    this.#engine = engine;
    this.#publisher = publisher;
    this.#dropped = dropped;
  }

  static async start(flags: Flags, rank: number): Promise<FakeRank> {
    const {
      dialect,
      endpoint,
      replayEndpoint,
      seed,
      drop,
      topic,
      bufferSteps,
      capacity,
      offload,
      blockSize,
    } = flags;
    const engine = new FakeEngine({ blockSize, capacity, offloadCapacity: offload, seed });
    const random = new Random((seed + rank) % 2 ** 32);
    const dropped = { count: 0 };
    const publisher = await bound({
      host: endpoint.host,
      port: portOf(endpoint, rank),
      replayPort: portOf(replayEndpoint, rank),
      replayLayout: flags.replayLayout ?? layoutOf(dialect),
      bufferSteps,
      topic,
      drop: () => {
        const isDropped = random.uniform() * 100 < drop;
        if (isDropped) dropped.count++;
        return isDropped;
      },
    });
    return new FakeRank(dialect, rank, engine, publisher, dropped);
  }

  get endpoints(): { readonly live: string; readonly replay: string } {
    return { live: this.#publisher.endpoint, replay: this.#publisher.replayEndpoint };
  }

  /** Resolves when the messages are on their way. */
  async serve({ tokens, output }: TokenRequest): Promise<void> {
    for (const events of this.#engine.serve({ tokens, output }).batches) {
      this.#publisher.publish(
        encodeBatch(this.dialect, { timestampMs: Date.now(), dpRank: this.rank, events }),
      );
    }
    await this.#publisher.flush();
  }

  text(): string {
    return `rank ${this.rank}: ${counted(this.#publisher.nextSequence, 'message')}`;
  }

  json(): FakeRankJson {
    const { live, replay } = this.endpoints;
    return {
      rank: this.rank,
      endpoint: live,
      replay_endpoint: replay,
      messages: this.#publisher.nextSequence,
      dropped: this.#dropped.count,
      held_blocks: { gpu: this.#engine.blocks('GPU').length, cpu: this.#engine.blocks('CPU').length },
    };
  }

  close(): Promise<void> {
    return this.#publisher.close();
  }
}

async function bound(options: FakePublisherOptions): Promise<FakePublisher> {
  try {
    return await FakePublisher.bind(options);
  } catch (error) {
    throw new CliError(`${(error as Error).message} (--endpoint and --replay-endpoint choose others)`);
  }
}

function portOf({ port }: TcpAddress, rank: number): number {
  return port === 0 ? 0 : port + rank;
}

/** What the versions that write so answer replays with. */
function layoutOf(dialect: Dialect): ReplayLayout {
  return dialect.startsWith('sglang') || DIALECTS[dialect].form === 'array' ? 'vllm-old' : 'vllm-new';
}

function invitation(first: FakeRank, { dialect, ranks, topic, endpoint }: Flags): string {
  const { live, replay } = first.endpoints;
  const options = [
    `--replay ${connectable(replay)}`,
    ...(ranks > 1 ? [`--ranks ${ranks}`] : []),
    ...(topic === '' ? [] : [`--topic ${quoted(topic)}`]),
  ];
  const where = ranks > 1 ? `${live} and the ports behind it, one for each of ${ranks} ranks` : live;
  const everywhere = ['*', '0.0.0.0'].includes(endpoint.host)
    ? ', here or on another machine by its name'
    : '';
  return (
    `publishing ${dialect} at ${where}. In another terminal${everywhere}:\n` +
    `  kvidx events watch ${connectable(live)} ${options.join(' ')}`
  );
}

function connectable(endpoint: string): string {
  return endpoint.replace('tcp://0.0.0.0:', 'tcp://127.0.0.1:');
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function summary(ranks: readonly FakeRank[], served: number): string {
  const lines = ranks.map((each) => {
    const { rank, messages, dropped, held_blocks } = each.json();
    const { gpu, cpu } = held_blocks;
    const left = dropped === 0 ? '' : ` (${grouped(dropped)} not sent)`;
    const offloaded = cpu === 0 ? '' : ` and ${grouped(cpu)} on the CPU`;
    return `  rank ${rank}: ${counted(messages, 'message')}${left}; holds ${counted(gpu, 'block')}${offloaded}`;
  });
  return `served ${counted(served, 'request')}\n${lines.join('\n')}`;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
