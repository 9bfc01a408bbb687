import type { StreamOptions } from '../stream/settings.js';
import type { StreamState } from '../stream/state.js';
import type { StreamPosition, StreamSink } from '../stream/types.js';

/** Where messages go; `EventFeed` is one. */
export interface StreamSinks {
  /** The sink of one rank of a worker, and how far its stream had come when this process began. */
  sink(worker: string, dpRank: number): StreamSink & { readonly position?: StreamPosition | undefined };
}

export interface ZmqSubscriberOptions extends StreamOptions {
  /** Messages of a stream that wait in its socket, at most; what comes then is lost, and replayed. Default 100,000. */
  readonly receiveHighWaterMark?: number;
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

/** One rank of a worker. */
export interface StreamStatus extends StreamState {
  readonly worker: string;
  readonly dpRank: number;
  readonly endpoint: string;
  readonly connected: boolean;
  /** Since the last message came, in ms; undefined: none did. */
  readonly ageMs: number | undefined;
}
