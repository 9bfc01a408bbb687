/** What stands behind an event of a stream. */
const ENDS_OF_EVENT = ['\n\n', '\r\n\r\n'].map((text) => Buffer.from(text));
const NOTHING = Buffer.alloc(0);
/** Usage comes in one of the last two events. */
const USAGE_BYTES = 4096;
/** The line of `[DONE]`, with what ends it and the line before. */
const DONE_BYTES = 32;

/**
 * Whole events of a stream that comes in pieces: whoever got only these can be told of an error at any time. Holds the
 * beginning of one event.
 */
export class WholeEvents {
  #rest: Buffer = NOTHING;

  /** The events that this piece completes, as they came; empty: none. */
  push(piece: Buffer): Buffer {
    const all = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const end = Math.max(...ENDS_OF_EVENT.map((mark) => endOfLast(all, mark)));
    this.#rest = all.subarray(end);
    return all.subarray(0, end);
  }

  /** What came behind the last whole event. */
  rest(): Buffer {
    return this.#rest;
  }
}

function endOfLast(bytes: Buffer, mark: Buffer): number {
  const at = bytes.lastIndexOf(mark);
  return at < 0 ? 0 : at + mark.length;
}

/** Is this the end of a stream, as the OpenAI API ends every one that is complete? */
export function endsInDone(bytes: Buffer): boolean {
  return /(^|\n)data: ?\[DONE\]\s*$/.test(bytes.subarray(-DONE_BYTES).toString('latin1'));
}

/** The end of an answer, where its usage stands. */
export class Tail {
  #last: Buffer = NOTHING;
  #beforeLast: Buffer = NOTHING;

  push(piece: Buffer): void {
    this.#beforeLast = this.#last;
    this.#last = piece;
  }

  /** Cached tokens of the prompt, as the engine tells them; undefined: it does not. */
  cachedTokens(): number | undefined {
    const text = Buffer.concat([this.#beforeLast, this.#last]).subarray(-USAGE_BYTES).toString('latin1');
    const told = /"cached_tokens":\s*(\d{1,15})/.exec(text);
    return told ? Number(told[1]) : undefined;
  }
}
