/** `hybrid`: hybrid / Bailian JSONL (rows with `chat_id`, seconds). `mooncake`: Mooncake JSONL (milliseconds). */
export type TraceFormat = 'hybrid' | 'mooncake';

/** One request of a trace. */
export interface TraceRow {
  /** Line of the file, from 1. */
  readonly line: number;
  /** Arrival, in milliseconds from the file's own zero, fractions kept; undefined where the row has none. */
  readonly timestampMs: number | undefined;
  /** Prompt tokens. */
  readonly inputLength: number;
  /** Answered tokens. */
  readonly outputLength: number | undefined;
  /**
   * The row's `session_id`; in a hybrid trace without it, the chat id at the root of the parent chain; else undefined.
   */
  readonly sessionId: string | undefined;
  /** Decimal text, exact at any size. */
  readonly chatId: string | undefined;
  /** Decimal text; undefined where a session starts (−1 in the file). */
  readonly parentChatId: string | undefined;
  readonly type: string | undefined;
  readonly turn: number | undefined;
  /** Think time: from the end of the parent's answer to this request. */
  readonly timeToParentChatMs: number | undefined;
  /**
   * `BigUint64Array[number of blocks]`, negative ids in two's complement. The row's own: no later row writes to it, unless
   * the reader was told so by `reuseIds`.
   */
  readonly hashIds: BigUint64Array;
}

/** A row of a hybrid trace. */
export type ChatRow = TraceRow & { readonly chatId: string };

export interface TraceReaderOptions {
  /** What a bad row does: end the reading with ERR_KVIDX_BAD_TRACE (`fail`, the default), or be counted (`skip`). */
  readonly onError?: 'fail' | 'skip';
  /**
   * All rows have their ids in the same memory: good until the next row is asked for. Spares a long trace memory that
   * must be had from the system first. Default false.
   */
  readonly reuseIds?: boolean;
  /** Longest line, in bytes, that is held in memory. Default 64 MiB. */
  readonly maxLineBytes?: number;
  /** Told after every chunk: bytes of the file (compressed where it is) read so far, and in all (undefined for a pipe). */
  readonly onProgress?: (bytes: number, totalBytes: number | undefined) => void;
}
