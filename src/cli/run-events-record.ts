import { loadZeroMq } from '../events/zeromq.js';
import type { StreamStatus } from '../events/zmq/types.js';
import { ZmqSubscriber } from '../events/zmq/zmq-subscriber.js';
import { counted } from '../text.js';
import { CliError } from './cli-error.js';
import { Ending } from './ending.js';
import { type Marked, markNotes, stateText } from './events-marks.js';
import type { Engine } from './events-options.js';
import type { EventsRecordFlags } from './events-record.js';
import { followEngines } from './follow-engines.js';
import { mib } from './format.js';
import { LateRecorder } from './late-recorder.js';
import { liveLine } from './live-text.js';
import { checkWritable } from './out-file.js';
import { print } from './print.js';
import { printable } from './printable.js';
import { ToldTroubles } from './told-troubles.js';

const DRAW_MS = 250;

export async function runEventsRecord(
  file: string,
  engines: readonly Engine[],
  flags: EventsRecordFlags,
): Promise<void> {
  checkWritable(file);
  await loadZeroMq('kvidx events record');
  const ending = new Ending(flags.for);
  const { messages = Number.POSITIVE_INFINITY } = flags;
  const recorder = new LateRecorder(file, messages, () => ending.end());
  let streams: readonly StreamStatus[] = [];
  const line = liveLine();
  const troubles = new ToldTroubles((told) => {
    line.clear();
    process.stderr.write(`${told}\n`);
  });
  try {
    const subscriber = await ZmqSubscriber.open(recorder, {
      onError: ({ message }, worker, dpRank) => troubles.add(worker, dpRank, message),
    });
    try {
      followEngines(subscriber, engines);
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
  if (recorder.messages === 0) throw new CliError(`nothing was heard: ${file} was not written`);
}

function recordedJson(
  file: string,
  recorder: LateRecorder,
  streams: readonly StreamStatus[],
  troubles: ToldTroubles,
) {
  return {
    recording: recorder.messages === 0 ? null : file,
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

function written({ messages, bytes }: LateRecorder): string {
  return `${counted(messages, 'message')}, ${mib(bytes)}`;
}

function streamText(stream: StreamStatus): string {
  return `${printable(stream.worker)} rank ${stream.dpRank} ${stateText(marked(stream))}`;
}

function marked({ connected, degraded }: StreamStatus): Marked {
  return { connected, degraded: degraded ?? null, refused_block_size: null, refused_mediums: [] };
}
