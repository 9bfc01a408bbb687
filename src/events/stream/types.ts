/** One message of an engine, as its stream hands it on: in order, none twice. */
export interface StreamMessage {
  readonly payload: Uint8Array;
  readonly sequence: number;
  /** XXH64 of the payload, seed 0. */
  readonly check: bigint;
  readonly receivedMs: number;
  /** It came some time after the engine sent it, from a replay or a recording. Omitted: it did not. */
  readonly isReplayed?: boolean;
}

/** What a message did. */
export interface StreamEffect {
  /** Some of it could not be read, so that what the engine holds is no longer known exactly. */
  readonly isDamaged: boolean;
  /** It said that the engine holds nothing: whatever was missed before no longer matters. */
  readonly isCleared: boolean;
}

/** Where the messages of one stream go. */
export interface StreamSink {
  apply(message: StreamMessage): StreamEffect;
  /** The engine began anew, with an empty cache. */
  restarted(): void;
  /** Told at every change; undefined: all is known again. */
  degraded(reason: DegradedReason | undefined): void;
}

/** The most serious first. */
export const DEGRADED_REASONS = [
  'damaged',
  'replay-too-short',
  'late-start',
  'replay-failed',
  'unconfirmed',
  'gap',
] as const;

/**
 * Why what is known of an engine may differ from what it holds.
 * - `late-start`: its first messages were not heard, and no replay gave them
 * - `gap`: messages are missing; those that can be had are being asked for
 * - `replay-too-short`: messages are missing that the engine no longer has, never sent, or did not give in time
 * - `replay-failed`: the replay endpoint does not answer, and only it could tell what is missing (it is asked again)
 * - `damaged`: a message or event could not be read
 * - `unconfirmed`: nothing tells that the engine still holds what is known: it was not heard yet, the connection was lost, or
 *   the engine no longer knows the last message that was heard
 */
export type DegradedReason = (typeof DEGRADED_REASONS)[number];

/** How far a stream has come: what it takes to go on after a restart of this process. */
export interface StreamPosition {
  /** Of the last message that was applied. */
  readonly sequence: number;
  readonly check: bigint;
  readonly degraded: DegradedReason | undefined;
}
