import type { WorkerHandle } from './workers.js';

/** What is known of the events that feed a worker, for `explain`. */
export interface EngineFeed {
  /** Time of the last message, in ms; undefined: none came. */
  readonly lastEventMs: number | undefined;
  /** Why the index may differ from what the engine holds; undefined: it does not. */
  readonly degraded: string | undefined;
  /** Tokens a block that the engine stores, where the index has another size and refuses them. */
  readonly refusedBlockSize: number | undefined;
  /** What kinds of events are left out, in words; undefined: none. */
  readonly leftOut: string | undefined;
}

/** Workers that are fed by events, while anybody knows them. */
export type EngineFeeds = WeakMap<WorkerHandle, EngineFeed>;
