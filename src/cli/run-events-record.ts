import { EventRecorder } from '../events/recording/index.js';
import { loadZeroMq } from '../events/zeromq.js';
import type { StreamSinks, StreamStatus } from '../events/zmq/types.js';
import { ZmqSubscriber } from '../events/zmq/zmq-subscriber.js';
import { counted } from '../text.js';
import { Ending } from './ending.js';
import { type Marked, markNotes, stateText } from './events-marks.js';
import type { Engine } from './events-options.js';
import type { EventsRecordFlags } from './events-record.js';
import { mib } from './format.js';
import { liveLine } from './live-text.js';
import { print } from './print.js';
import { printable } from './printable.js';
import { ToldTroubles } from './told-troubles.js';

const DRAW_MS = 250;

export async function runEventsRecord(
  file: string,
  engines: readonly Engine[],
  flags: EventsRecordFlags,
): Promise<void> {
  await loadZeroMq('kvidx events record'); // before a file that is there is replaced in vain
  const ending = new Ending(flags.for);
  const recorder = await EventRecorder.open(file, { onError: () => ending.end() });
  let streams: readonly StreamStatus[] = [];
  const line = liveLine();
  const troubles = new ToldTroubles((told) => {
    line.clear();
    process.stderr.write(`${told}\n`);
  });
  try {
    const { messages = Number.POSITIVE_INFINITY } = flags;
    const subscriber = await ZmqSubscriber.open(upTo(messages, recorder, ending), {
      onError: ({ message }, worker, dpRank) => troubles.add(worker, dpRank, message),
    });
    try {
      for (const { worker, follow } of engines) subscriber.follow(worker, follow);
      while (!ending.isOver) {
        await ending.sleep(DRAW_MS);
        streams = subscriber.status();
        line.draw(`${written(recorder)}; ${streams.map(streamText).join('; ')}`);
      }
    } finally {
      line.clear();
      await subscriber.close();
    }
  } finally {
    ending.end();
    await recorder.close();
  }
  const ranks = streams.map(marked);
  const notes = markNotes(ranks, null).map((each) => `\n${each}`);
  process.stderr.write(
    `${file}: ${written(recorder)}; ${streams.map(streamText).join('; ')}${notes.join('')}\n`,
  );
  if (flags.json)
    await print([`${JSON.stringify(recordedJson(file, recorder, streams, troubles), null, 2)}\n`]);
}

/** Ends with the last message that is wanted; what comes in the same moment is left out. */
function upTo(messages: number, recorder: EventRecorder, ending: Ending): StreamSinks {
  return {
    sink: (worker, dpRank) => {
      const sink = recorder.sink(worker, dpRank);
      return {
        ...sink,
        apply: (message) => {
          const effect = recorder.messages < messages ? sink.apply(message) : WANTED_NO_MORE;
          if (recorder.messages >= messages) ending.end();
          return effect;
        },
      };
    },
  };
}

const WANTED_NO_MORE = { isDamaged: false, isCleared: false } as const;

function recordedJson(
  file: string,
  recorder: EventRecorder,
  streams: readonly StreamStatus[],
  troubles: ToldTroubles,
) {
  return {
    recording: file,
    messages: recorder.messages,
    bytes: recorder.bytes,
    ranks: streams.map((stream) => ({
      worker: stream.worker,
      rank: stream.dpRank,
      endpoint: stream.endpoint,
      connected: stream.connected,
      degraded: stream.degraded ?? null,
      next_sequence: stream.next,
      gaps: stream.gaps,
      repeats: stream.repeats,
      restarts: stream.restarts,
      replayed_messages: stream.replayedMessages,
      damaged: stream.damaged,
      dropped: stream.dropped,
      problem: troubles.lastOf(stream.worker, stream.dpRank) ?? null,
    })),
  };
}

function written({ messages, bytes }: EventRecorder): string {
  return `${counted(messages, 'message')}, ${mib(bytes)}`;
}

function streamText(stream: StreamStatus): string {
  return `${printable(stream.worker)} rank ${stream.dpRank} ${stateText(marked(stream))}`;
}

function marked({ connected, degraded }: StreamStatus): Marked {
  return { connected, degraded: degraded ?? null, refused_block_size: null, refused_mediums: [] };
}
