import { ZmqSubscriber } from '../events/zmq/zmq-subscriber.js';
import { Ending } from './ending.js';
import type { Engine } from './events-options.js';
import type { EventsWatchFlags } from './events-watch.js';
import { watchText } from './events-watch-text.js';
import { followEngines } from './follow-engines.js';
import { LateFeed } from './late-feed.js';
import { LiveText } from './live-text.js';
import { print } from './print.js';
import { type WatchedJson, WatchedRanks } from './watched-ranks.js';

/** The first table does not wait for a long interval: it says whether there is a connection. */
const FIRST_MS = 1000;
/** Of lines that go elsewhere than to a terminal. */
const WIDTH = 110;

export async function runEventsWatch(engines: readonly Engine[], flags: EventsWatchFlags): Promise<void> {
  const feed = new LateFeed(flags.blockSize);
  const subscriber = await ZmqSubscriber.open(feed, {
    onError: (error, worker, dpRank) => feed.tell(worker, dpRank, error.message),
  });
  const ending = new Ending(flags.for);
  try {
    followEngines(subscriber, engines);
    const ranks = new WatchedRanks(feed);
    const show = view(flags.json === true);
    for (let ms = Math.min(FIRST_MS, flags.interval * 1000); !ending.isOver; ms = flags.interval * 1000) {
      await ending.sleep(ms);
      await show(ranks.look(subscriber.status()));
    }
  } finally {
    ending.end();
    await subscriber.close();
    feed.close();
  }
}

function view(isJson: boolean): (watched: WatchedJson) => Promise<void> {
  if (isJson) return (watched) => print([`${JSON.stringify(watched)}\n`]);
  if (!process.stdout.isTTY) return (watched) => print([`${watchText(watched, WIDTH)}\n\n`]);
  const screen = new LiveText(process.stdout);
  return async (watched) => screen.draw(watchText(watched, process.stdout.columns));
}
