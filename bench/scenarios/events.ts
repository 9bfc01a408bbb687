import { basename } from 'node:path';
import { decodeEventBatch } from '../../src/events/decode-batch.js';
import { EventFeed } from '../../src/events/feed/event-feed.js';
import { KvIndex } from '../../src/kv-index/kv-index.js';
import { PlainFollower, plainHash } from '../event-follower.js';
import { RECORDED_BLOCK_SIZE, type Recording, recordEvents } from '../event-recording.js';
import { type Figure, Race, runScenario, type ScenarioContext } from '../harness.js';

const WORKER = 'w0';

await runScenario('events', async (context) => {
  const { quick, trace, progress, note } = context;
  const most = quick ? 20 : 200;
  const hash = await plainHash();
  const figures: Figure[] = [];
  for (const dialect of ['vllm-map', 'vllm-extra-keys'] as const) {
    progress(`${basename(trace)}: events of ${dialect}`);
    const recording = await recordEvents(trace, dialect, most);
    checkEqual(context, recording, hash, dialect);
    figures.push(...raceFollowers(context, recording, hash, dialect));
    const { payloads, blocks, events, bytes, singles } = recording;
    note(
      `${dialect}: ${payloads.length} messages, ${events} events, ${blocks} blocks of ${RECORDED_BLOCK_SIZE} tokens, ` +
        `${Math.round(bytes / blocks)} bytes a block; ${(100 * singles).toFixed(0)} % of the messages store one decoded block`,
    );
  }
  return figures;
});

type Hash = Awaited<ReturnType<typeof plainHash>>;

function follow({ payloads }: Recording): { index: KvIndex; feed: EventFeed } {
  const index = new KvIndex({ blockSize: RECORDED_BLOCK_SIZE });
  const feed = new EventFeed(index);
  const engine = feed.follow(WORKER);
  for (const payload of payloads) engine.apply(payload, { nowMs: 0 });
  return { index, feed };
}

function followPlainly({ payloads }: Recording, hash: Hash | undefined): PlainFollower {
  const follower = new PlainFollower(RECORDED_BLOCK_SIZE, hash);
  for (const payload of payloads) follower.apply(WORKER, payload);
  return follower;
}

function checkEqual({ check }: ScenarioContext, recording: Recording, hash: Hash, dialect: string): void {
  const { held } = recording;
  const { index } = follow(recording);
  const isHeld = (blocks: BigUint64Array) => Buffer.from(blocks.buffer).equals(Buffer.from(held.buffer));
  check(`${dialect}: the index holds what the engine holds`, isHeld(index.enumerate(index.workers()[0]!)));
  const plain = BigUint64Array.from(followPlainly(recording, hash).holders.keys()).sort();
  check(`${dialect}: so does the plain follower`, isHeld(plain));
  index.close();
}

function raceFollowers(
  { quick }: ScenarioContext,
  recording: Recording,
  hash: Hash,
  dialect: string,
): Figure[] {
  const { payloads, blocks } = recording;
  const operations = blocks;
  const race = new Race(
    {
      kvidx: { operations, run: () => follow(recording).index.close() },
      plain: { operations, run: () => void followPlainly(recording, hash) },
      names: { operations, run: () => void followPlainly(recording, undefined) },
      decode: {
        operations,
        run: () => {
          for (const payload of payloads) decodeEventBatch(payload);
        },
      },
    },
    { rounds: quick ? 2 : 5, roundMs: quick ? 50 : 1500 },
  );
  return [
    { name: `${dialect}: decode and apply`, value: 1e9 / race.medianNs('kvidx'), unit: 'blocks/s' },
    {
      name: `${dialect}: a plain JavaScript follower`,
      value: 1e9 / race.medianNs('plain'),
      unit: 'blocks/s',
    },
    {
      name: `${dialect}: faster than the plain follower`,
      ...race.ratio('plain', 'kvidx'),
      unit: 'x',
      target: { atLeast: 10 },
    },
    {
      name: `${dialect}: faster than one that does not hash tokens`,
      ...race.ratio('names', 'kvidx'),
      unit: 'x',
    },
    { name: `${dialect}: decodeEventBatch alone`, value: 1e9 / race.medianNs('decode'), unit: 'blocks/s' },
  ];
}
