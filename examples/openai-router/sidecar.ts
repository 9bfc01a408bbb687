// Beside a real engine, which tells of its cache by KV events only: follows them, and publishes sketches of what it holds.
import { Command } from 'commander';
import { EventFeed, KvIndex, redisTransport, SketchPublisher, ZmqSubscriber } from 'kvidx';
import { integer } from './integer-option.js';
import { once } from './once.js';
import { fail, run } from './run-program.js';

interface Options {
  readonly worker: string;
  readonly events: string;
  readonly replay?: string;
  readonly sketch: string;
  readonly blockSize: number;
}

const options = new Command('sidecar')
  .description('Follows the KV events of one engine and publishes sketches of what it holds.')
  .requiredOption('--worker <name>', 'the engine, as routers know it')
  .requiredOption('--events <endpoint>', 'tcp://…: where it publishes')
  .option('--replay <endpoint>', 'tcp://…: where it can be asked for events that were lost')
  .requiredOption('--sketch <url>', 'redis://…: where routers follow sketches')
  .option('--block-size <tokens>', 'tokens a block: that of the engine', integer(1, 4096), 24)
  .parse()
  .opts<Options>();

await start(options).catch(fail);

async function start({ worker, events, replay, sketch, blockSize }: Options): Promise<void> {
  const tell = once((text) => console.error(text));
  const onError = (error: unknown) => tell(`${error}`);
  const index = new KvIndex({ blockSize });
  const subscriber = await ZmqSubscriber.open(new EventFeed(index, { onError }), {
    onError,
    onChange: ({ connected, degraded = 'all is known' }) =>
      console.log(`${worker}: ${connected ? 'connected' : 'not connected'}, ${degraded}`),
  });
  subscriber.follow(worker, { endpoint: events, ...(replay !== undefined && { replayEndpoint: replay }) });
  const transport = await redisTransport({ url: sketch, onError });
  const resident = { blockSize, hashes: () => allBlocks(index) };
  const publisher = new SketchPublisher({ transport, worker, resident, onError });
  publisher.start();
  // Without the user and the password of the store.
  run({ worker }, `KV events of ${worker}: ${events}; its sketches: ${new URL(sketch).host}`, async () => {
    await Promise.all([subscriber.close(), publisher.close()]);
    await transport.close();
    index.close();
  });
}

/** Each tier of the engine is a worker of the index. A block may be in several of them, and counts once. */
function allBlocks(index: KvIndex): BigUint64Array {
  const tiers = index.workers().map((tier) => index.enumerate(tier, { sorted: false }));
  if (tiers.length === 1) return tiers[0]!;
  const all = new Set<bigint>();
  for (const tier of tiers) for (const hash of tier) all.add(hash);
  return BigUint64Array.from(all);
}
