import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type FollowedSketch,
  memoryTransport,
  residentOf,
  SketchPublisher,
  SketchSubscriber,
} from '../src/sketch/index.js';
import { BLOCK_BYTES } from '../src/sketch/words.js';
import { counted } from '../src/text.js';
import type { Figure } from './figures.js';
import type { ScenarioContext } from './harness.js';
import type { Requests } from './requests.js';
import { RoundRobin } from './round-robin.js';

const BYTES_A_HASH = 8;
/** Requests of a worker after which it publishes. */
const INTERVALS = [1, 10] as const;

/** What travelled, in frames and bytes. */
interface Traffic {
  fullFrames: number;
  fullBytes: number;
  deltaFrames: number;
  deltaBytes: number;
  /** Had each frame been a full one; all hashes of the worker; those of them that are new. */
  wholeFilters: number;
  allHashes: number;
  newHashes: number;
  /** Frames after which the follower was not where the publisher was. */
  behind: number;
  /** Resident blocks that the follower does not know of at the end. */
  missing: number;
}

/** What travels over a trace while a router follows: full frames alone, and deltas between them as publishers send them. */
export async function replayExchange(context: ScenarioContext, requests: Requests): Promise<Figure[]> {
  const figures: Figure[] = [];
  context.note(
    "exchange: left out are full frames that are due by time alone (fullEveryMs); the publishers' clock stands still",
  );
  for (const every of INTERVALS) {
    const when = every === 1 ? 'a frame a request' : `a frame every ${every} requests`;
    context.progress(when);
    const traffic = await exchange(requests, every);
    const frames = traffic.fullFrames + traffic.deltaFrames;
    context.check(
      `${when}: who follows has each of ${counted(frames, 'frame')}, and all that is resident`,
      traffic.behind + traffic.missing === 0,
    );
    const bytes = (name: string, sum: number): Figure => {
      return { name: `${when}: ${name}`, value: sum / requests.all.length, unit: 'bytes/request' };
    };
    figures.push(
      bytes('all hashes', traffic.allHashes),
      bytes('full frames', traffic.wholeFilters),
      bytes('deltas, and full frames as needed, none by time', traffic.fullBytes + traffic.deltaBytes),
      bytes('new hashes alone', traffic.newHashes),
      { name: `${when}: full as needed`, value: (100 * traffic.fullFrames) / frames, unit: '% of frames' },
    );
    if (traffic.deltaFrames > 0) {
      const value = traffic.deltaBytes / traffic.deltaFrames;
      figures.push({ name: `${when}: a delta`, value, unit: 'bytes' });
    }
  }
  return figures;
}

async function exchange(requests: Requests, every: number): Promise<Traffic> {
  const fleet = new RoundRobin(requests);
  const { index, workers } = fleet;
  const transport = memoryTransport();
  const subscriber = new SketchSubscriber({ transport });
  const publishers = workers.map((worker) => {
    // The clock stands still: a worker of these traces is idle so long between requests that each frame would be a full one.
    const now = () => 0;
    return new SketchPublisher({ transport, worker: worker.name, resident: residentOf(index, worker), now });
  });
  const followed = workers.map(({ name }) => subscriber.follow(name));
  await nextTurn();

  const framesOf = { fullFrames: 0, deltaFrames: 0, behind: 0 };
  const bytesOf = { fullBytes: 0, deltaBytes: 0, wholeFilters: 0, allHashes: 0, newHashes: 0 };
  const states = workers.map(() => ({ served: 0, sentKeys: 0, headBytes: 0 }));
  for (const { seq } of requests.all) {
    const place = fleet.serve(seq);
    const state = states[place]!;
    state.served += 1;
    if (state.served % every !== 0) continue;
    const { kind, keys, z, bytes, epoch, sequence } = await publishers[place]!.publish();
    await nextTurn();
    if (kind === 'delta') {
      framesOf.deltaFrames += 1;
      bytesOf.deltaBytes += bytes;
    } else {
      framesOf.fullFrames += 1;
      bytesOf.fullBytes += bytes;
      state.headBytes = bytes - BLOCK_BYTES * z;
    }
    bytesOf.wholeFilters += state.headBytes + BLOCK_BYTES * z;
    bytesOf.allHashes += BYTES_A_HASH * keys;
    bytesOf.newHashes += BYTES_A_HASH * (keys - state.sentKeys);
    state.sentKeys = keys;
    if (!isAt(followed[place]!, epoch, sequence)) framesOf.behind += 1;
  }

  let missing = 0;
  for (const [place, worker] of workers.entries()) {
    await publishers[place]!.publish();
    await nextTurn();
    const resident = index.enumerate(worker);
    missing += resident.length - followed[place]!.countBlocks(resident);
    await publishers[place]!.close();
  }
  await subscriber.close();
  await transport.close();
  index.close();
  return { ...bytesOf, ...framesOf, missing };
}

function isAt({ sketch, degraded }: FollowedSketch, epoch: number, sequence: number): boolean {
  return degraded === undefined && sketch?.epoch === epoch && sketch.sequence === sequence;
}
