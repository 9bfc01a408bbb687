import {
  createPolicy,
  EventFeed,
  KvidxError,
  Router,
  type RouterStats,
  redisTransport,
  SketchSubscriber,
  ZmqSubscriber,
} from 'kvidx';
import type { RouterOptions, WorkerPlace } from './options.js';
import type { StateOfWorker } from './state.js';

/** Sketches come every second: one that is older than this counts for less. */
const MAX_STALENESS_MS = 10_000;

export interface Told {
  /** Since the worker told last; undefined: it did not yet. */
  readonly ageMs: number | undefined;
  /** What is wrong with what it tells. */
  readonly degraded: string | undefined;
}

/** How the router knows what its workers hold, and how well. */
export interface KnownResidency {
  readonly router: Router;
  /** Of a worker, by name. */
  kind(worker: string): StateOfWorker['residency'];
  /** Of workers that are followed, by name. */
  told(stats: RouterStats): ReadonlyMap<string, Told>;
  /** It went down: nothing of what it told counts until it tells it again. */
  lost(worker: string): void;
  close(): Promise<void>;
}

type Options = Pick<RouterOptions, 'worker' | 'policy' | 'blockSize' | 'sketch'>;

/**
 * A worker with `events` is known exactly, by its KV events. Of the others the router follows sketches where `sketch` says
 * where they are, and else estimates from what it sent them.
 */
export async function openResidency(options: Options, warn: (text: string) => void): Promise<KnownResidency> {
  const { worker: places, blockSize } = options;
  const policy = options.policy === undefined ? undefined : createPolicy(options.policy); // a wrong one throws before there is anything to close
  const sketches = options.sketch === undefined ? undefined : await followSketches(options, warn);
  const router = new Router({
    ...(policy && { policy }),
    blockSize,
    residency: sketches ? 'sketch' : 'estimate',
    recordAt: 'route', // so that the first turns of many sessions, which arrive at once, meet or part
    ...(sketches && { sketches: { source: sketches.source, maxStalenessMs: MAX_STALENESS_MS } }),
  });
  const told = places.filter(({ events }) => events !== undefined);
  const feed = new EventFeed(router.index, {
    onError: ({ message }, worker) => warn(`KV events of ${worker}: ${message}`),
  });
  const subscriber = told.length > 0 ? await ZmqSubscriber.open(feed) : undefined;
  const follow = ({ name, events, replay }: WorkerPlace) =>
    subscriber!.follow(name, { endpoint: events!, ...(replay !== undefined && { replayEndpoint: replay }) });
  const exact = new Map(told.map((place) => [place.name, place]));

  const known: KnownResidency = {
    router,
    kind: (worker) => (exact.has(worker) ? 'exact' : sketches ? 'sketch' : 'estimate'),
    told({ workers }) {
      const told = new Map<string, Told>();
      for (const { worker, sketch } of workers) {
        if (sketch) told.set(worker, { ageMs: sketch.ageMs, degraded: sketch.degraded });
      }
      const nowMs = Date.now();
      for (const { worker, lastEventMs, refusedBlockSize, ...rank } of feed.stats()) {
        const degraded = refusedBlockSize === undefined ? rank.degraded : 'block-size';
        const others = told.get(worker); // its ranks before this one
        const ageMs = lastEventMs === undefined ? undefined : Math.max(0, nowMs - lastEventMs);
        told.set(worker, {
          ageMs: others?.ageMs === undefined ? ageMs : Math.min(others.ageMs, ageMs ?? others.ageMs),
          degraded: others?.degraded ?? degraded,
        });
      }
      return told;
    },
    lost(worker) {
      const place = exact.get(worker);
      if (!place) return;
      subscriber!.unfollow(worker);
      feed.unfollow(worker);
      follow(place);
    },
    async close() {
      await subscriber?.close();
      router.close();
      await sketches?.close();
    },
  };
  try {
    for (const place of told) follow(place);
  } catch (error) {
    await known.close();
    throw error;
  }
  return known;
}

async function followSketches({ sketch, blockSize }: Options, warn: (text: string) => void) {
  const transport = await redisTransport({
    url: sketch!,
    onError: ({ message }) => warn(`sketches: ${message}`),
  });
  const source = new SketchSubscriber({
    transport,
    blockSize,
    onError: (error, worker) =>
      warn(`sketch of ${worker}: ${error instanceof KvidxError ? error.message : error}`),
  });
  return {
    source,
    async close() {
      await source.close();
      await transport.close();
    },
  };
}
