/** What stands behind an event of a stream. */
const ENDS_OF_EVENT = ['\n\n', '\r\n\r\n'].map((text) => Buffer.from(text));
const NOTHING = Buffer.alloc(0);
/** Usage comes in one of the last two events. */
const USAGE_BYTES = 4096;
/** An object that holds objects, and those nothing more. */
const USAGE = /"usage":\s*(\{(?:[^{}]|\{[^{}]*\})*\})/g;
/** The line of `[DONE]`, with what ends it and the line before. */
const DONE_BYTES = 32;
/** Within a text of JSON its quotes would be escaped. */
const ERROR_KEY = '"error"';

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

/** Do these events say anything? Comments do not, as engines send them to keep a connection open. */
export function hasData(events: Buffer): boolean {
  return /(^|\n)data:/.test(events.toString('latin1'));
}

export interface StreamError {
  /** As HTTP would have it. */
  readonly status: number;
  readonly message: string;
}

/** The first error that these events tell: an engine that fails behind its headers can say so in no other way. */
export function errorIn(events: Buffer): StreamError | undefined {
  if (!events.includes(ERROR_KEY)) return undefined;
  for (const [, data] of events.toString().matchAll(/^data:(.*)$/gm)) {
    const error = fieldOf(data!, 'error');
    if (!error) continue;
    const { code, message } = error as { code?: unknown; message?: unknown };
    const status = Number(code);
    return {
      status: status >= 400 && status < 600 ? status : 500,
      message: String(message ?? JSON.stringify(error)),
    };
  }
  return undefined;
}

/** Of a JSON object; undefined where this is none. */
function fieldOf(text: string, field: string): unknown {
  try {
    return JSON.parse(text)[field];
  } catch {
    return undefined;
  }
}

export interface Usage {
  readonly promptTokens: number;
  /** Of these, that were cached. */
  readonly cachedTokens: number;
}

/** The end of an answer, where its usage stands. */
export class Tail {
  #last: Buffer = NOTHING;
  #beforeLast: Buffer = NOTHING;

  push(piece: Buffer): void {
    this.#beforeLast = this.#last;
    this.#last = piece.subarray(-USAGE_BYTES);
  }

  /** As the engine tells it; undefined: it does not. */
  usage(): Usage | undefined {
    const text = Buffer.concat([this.#beforeLast, this.#last]).subarray(-USAGE_BYTES).toString('latin1');
    const [, told] = [...text.matchAll(USAGE)].at(-1) ?? [];
    if (told === undefined) return undefined;
    const promptTokens = fieldOf(told, 'prompt_tokens');
    const details = fieldOf(told, 'prompt_tokens_details') as { cached_tokens?: unknown } | null | undefined;
    const cachedTokens = details?.cached_tokens;
    return isCount(promptTokens) && isCount(cachedTokens) ? { promptTokens, cachedTokens } : undefined;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
