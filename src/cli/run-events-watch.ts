import { ZmqSubscriber } from '../events/zmq/zmq-subscriber.js';
import { Ending } from './ending.js';
import type { Engine } from './events-options.js';
import type { EventsWatchFlags } from './events-watch.js';
import { watchText } from './events-watch-text.js';
import { LateFeed } from './late-feed.js';
import { LiveText } from './live-text.js';
import { print } from './print.js';
import { type WatchedJson, WatchedRanks } from './watched-ranks.js';

export async function runEventsWatch(engines: readonly Engine[], flags: EventsWatchFlags): Promise<void> {
  const feed = new LateFeed(flags.blockSize);
  const subscriber = await ZmqSubscriber.open(feed);
  const ending = new Ending(flags.for);
  try {
    for (const { worker, follow } of engines) subscriber.follow(worker, follow);
    const ranks = new WatchedRanks(feed);
    const show = view(flags.json === true);
    while (!ending.isOver) {
      await ending.sleep(flags.interval * 1000);
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
  if (!process.stdout.isTTY) return (watched) => print([`${watchText(watched)}\n\n`]);
  const screen = new LiveText(process.stdout);
  return async (watched) => screen.draw(watchText(watched));
}
