import type { StreamOptions } from '../stream/settings.js';
import type { StreamState } from '../stream/state.js';
import type { StreamPosition, StreamSink } from '../stream/types.js';

/** A sink, and how far its stream had come when it was followed last. */
export interface SunkStream extends StreamSink {
  readonly position?: StreamPosition | undefined;
}

/** Where messages go; `EventFeed` is one. */
export interface StreamSinks {
  /** The sink of one rank of a worker, asked for whenever the worker is followed. */
  sink(worker: string, dpRank: number): SunkStream;
}

export interface ZmqSubscriberOptions extends StreamOptions {
  /** Messages of a stream that wait in its socket, at most; what comes then is lost, and replayed. Default 100,000. */
  readonly receiveHighWaterMark?: number;
  /**
   * A message of more bytes is not taken, 1 … 2^31 − 1: the connection is closed and, after a second, made again. `onError` is
   * told where this side connects; where it listens (`bind`) it only sees a connection that was lost. The message is missing
   * then, and a replay that brings it ends there: the stream is degraded. Default 64 MiB.
   */
  readonly maxMessageBytes?: number;
  /** Told what befell a stream. Default: nobody is. */
  readonly onError?: (error: Error, worker: string, dpRank: number) => void;
  /** Told when a stream is connected or not, or degraded otherwise than before. */
  readonly onChange?: (status: StreamStatus) => void;
}

/** How an engine is followed. */
export interface FollowOptions {
  /**
   * Where rank 0 publishes: `tcp://host:port`, `ipc://path` or `inproc://name`. Rank r is at port + r, or at the name with
   * `_dp{r}` behind it.
   */
  readonly endpoint: string;
  /** Where rank 0 replays; the others as above. Default: the engine replays nothing, and what is missed is lost. */
  readonly replayEndpoint?: string;
  /** How many ranks there are. Default 1. */
  readonly ranks?: number;
  /** The first of them. Default 0. */
  readonly firstRank?: number;
  /** What topics must begin with. Default '', which all do. */
  readonly topic?: string;
  /** Listen at `endpoint`, for an engine that connects (one whose own endpoint names a host). Default false: connect. */
  readonly bind?: boolean;
}

/** Which stream, and how it is reached. */
export interface StreamPlace {
  readonly worker: string;
  readonly dpRank: number;
  readonly endpoint: string;
  readonly replayEndpoint: string | undefined;
  readonly topic: string;
  readonly isBound: boolean;
}

/** One rank of a worker. */
export interface StreamStatus extends StreamState {
  readonly worker: string;
  readonly dpRank: number;
  readonly endpoint: string;
  readonly connected: boolean;
  /** Since the last message came, in ms; undefined: none did. */
  readonly ageMs: number | undefined;
}
