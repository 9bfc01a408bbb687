import { basename } from 'node:path';
import { decodeEventBatch } from '../../src/events/decode-batch.js';
import {
  decodeChecked,
  decodeUnchecked,
  type Follower,
  KvidxFollower,
  PlainFollower,
  plainHash,
} from '../event-follower.js';
import { RECORDED_BLOCK_SIZE, type Recording, recordEvents } from '../event-recording.js';
import type { Figure } from '../figures.js';
import { runScenario, type ScenarioContext } from '../harness.js';
import { Race, type Rival } from '../race.js';

const WORKER = 'w0';

await runScenario('events', async (context) => {
  const { quick, trace, progress, note } = context;
  const most = quick ? 8 : 250;
  const hash = await plainHash();
  const figures: Figure[] = [];
  for (const dialect of ['vllm-map', 'vllm-extra-keys'] as const) {
    const recording = await recordEvents(trace, dialect, most);
    progress(`${basename(trace)}: events of ${dialect}`);
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

function followAll(follower: Follower, { payloads }: Recording): void {
  for (const payload of payloads) follower.apply(WORKER, payload);
}

/** What is timed is following; a new follower is made before. */
function rival<F extends Follower>(
  recording: Recording,
  make: () => F,
  { close = () => {}, baseline }: { close?: (follower: F) => void; baseline?: true } = {},
): Rival {
  let follower: F | undefined;
  return {
    operations: recording.blocks,
    ...(baseline && { baseline }),
    prepare: () => {
      if (follower) close(follower);
      follower = make();
    },
    run: () => followAll(follower!, recording),
  };
}

function checkEqual({ check }: ScenarioContext, recording: Recording, hash: Hash, dialect: string): void {
  const { held } = recording;
  const follower = new KvidxFollower(RECORDED_BLOCK_SIZE);
  followAll(follower, recording);
  const { index } = follower;
  const isHeld = (blocks: BigUint64Array) => Buffer.from(blocks.buffer).equals(Buffer.from(held.buffer));
  check(`${dialect}: the index holds what the engine holds`, isHeld(index.enumerate(index.workers()[0]!)));
  const plain = new PlainFollower(RECORDED_BLOCK_SIZE, hash, decodeChecked);
  followAll(plain, recording);
  check(`${dialect}: so does the plain follower`, isHeld(BigUint64Array.from(plain.holders.keys()).sort()));
  index.close();
}

function raceFollowers(
  { quick }: ScenarioContext,
  recording: Recording,
  hash: Hash,
  dialect: string,
): Figure[] {
  const { payloads, blocks } = recording;
  const race = new Race(
    {
      kvidx: rival(recording, () => new KvidxFollower(RECORDED_BLOCK_SIZE), {
        close: ({ index }) => index.close(),
      }),
      plain: rival(recording, () => new PlainFollower(RECORDED_BLOCK_SIZE, hash, decodeChecked), {
        baseline: true,
      }),
      unchecked: rival(recording, () => new PlainFollower(RECORDED_BLOCK_SIZE, hash, decodeUnchecked), {
        baseline: true,
      }),
      decode: {
        operations: blocks,
        run: () => {
          for (const payload of payloads) decodeEventBatch(payload);
        },
      },
    },
    { rounds: quick ? 2 : 4, roundMs: quick ? 10 : 200, samples: 3 },
  );
  return [
    race.rate('kvidx', `${dialect}: decode and apply`, 'blocks/s'),
    race.rate('plain', `${dialect}: a plain JavaScript follower`, 'blocks/s'),
    {
      name: `${dialect}: faster than the plain follower`,
      ...race.ratio('plain', 'kvidx'),
      unit: 'x',
      target: { atLeast: 10 },
      better: 'higher',
    },
    {
      name: `${dialect}: faster than one that believes what msgpack gives`,
      ...race.ratio('unchecked', 'kvidx'),
      unit: 'x',
      better: 'higher',
    },
    race.rate('decode', `${dialect}: decodeEventBatch alone`, 'blocks/s'),
  ];
}
