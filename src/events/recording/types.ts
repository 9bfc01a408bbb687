/** One message of a recording. */
export interface RecordedMessage {
  readonly worker: string;
  /** Rank of the stream that it came on. */
  readonly dpRank: number;
  readonly sequence: number;
  /** When it came, in ms. */
  readonly receivedMs: number;
  /** What the engine sent. Read from a file it aliases a larger buffer, which lives as long. */
  readonly payload: Uint8Array;
}
