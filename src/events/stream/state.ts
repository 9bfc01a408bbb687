import type { DegradedReason } from './types.js';

/** What happened on a stream, since it is followed. */
export interface StreamCounts {
  /** Live messages with a number. */
  messages: number;
  /** Of these, those that were known already. */
  repeats: number;
  /** How often live numbers jumped. */
  gaps: number;
  /** How often the engine began anew. */
  restarts: number;
  /** Replays that were asked for, those of an idle stream too. */
  replays: number;
  failedReplays: number;
  /** Messages that came from replays and were applied. */
  replayedMessages: number;
  /** Messages without three frames, or without a number of 8 bytes up to 2^53 − 1. */
  damaged: number;
}

export interface StreamState extends Readonly<StreamCounts> {
  /** The number that is applied next; 0: none was. */
  readonly next: number;
  /** Undefined: what is known is what the engine holds. */
  readonly degraded: DegradedReason | undefined;
  /** When a message came last, in ms; undefined: none did. */
  readonly lastMessageMs: number | undefined;
  /** Messages that wait for missing ones. */
  readonly heldMessages: number;
  /** Of their payloads. */
  readonly heldBytes: number;
  /** Messages that were to be held and found no room; replays are to bring them. */
  readonly dropped: number;
}

export function newCounts(): StreamCounts {
  return {
    messages: 0,
    repeats: 0,
    gaps: 0,
    restarts: 0,
    replays: 0,
    failedReplays: 0,
    replayedMessages: 0,
    damaged: 0,
  };
}
