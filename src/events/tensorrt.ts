import { invalidArgType, KvidxError } from '../errors.js';
import { EventProblem } from './fields.js';
import { decodeTensorRtEvent } from './tensorrt-event.js';
import type { BadEvent, TensorRtEvent, TensorRtEvents } from './types.js';

/** A string as a whole, or an integer of so many digits that a Number may not hold it. */
const STRING_OR_LONG_INTEGER = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\w.+-])-?\d{16,}(?![\w.])/g;

/**
 * Events of TensorRT-LLM's JSON (`/kv_cache_events`, or `get_kv_cache_events` of its API): a list, or one. Pass the text
 * where there is one: hashes are exact then, whereas `JSON.parse` rounds those beyond 2^53, and such a Number is a bad
 * event. In an object they may be bigints, or strings of their digits.
 *
 * `stored` comes to a stored event a tier, whose last block may be partial; `removed` to a removal from each tier, as it
 * names none; `updated` to a store by hash in the new tier and a removal from the old one, or to nothing where only the
 * priority changed; `created` to nothing. Token ids with an extra id and multimodal keys are extra keys,
 * `['token_extra_id', position, id]` and `[hash, start]`. The JSON tells neither LoRA nor salt.
 *
 * An event that is wrong is told in `bad`, and the others stand. Throws ERR_KVIDX_BAD_EVENT (no JSON, neither a list nor
 * an object) or ERR_KVIDX_INVALID_ARG_TYPE.
 */
export function decodeTensorRtEvents(json: string | object): TensorRtEvents {
  const value = typeof json === 'string' ? parse(json) : json;
  if (typeof value !== 'object' || value === null) {
    if (typeof json !== 'string')
      throw invalidArgType('json', 'a string, a list of events or an event', json);
    throw new KvidxError('ERR_KVIDX_BAD_EVENT', 'TensorRT-LLM events are a list or an object');
  }
  const events: TensorRtEvent[] = [];
  const bad: BadEvent[] = [];
  let unknown = 0;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  list.forEach((item, index) => {
    try {
      const event = decodeTensorRtEvent(item);
      if (event === undefined) unknown++;
      else events.push(event);
    } catch (error) {
      if (!(error instanceof EventProblem)) throw error;
      bad.push({ index, problem: error.message });
    }
  });
  return { events, unknown, bad };
}

/**
 * Long integers become strings of their digits. The text is parsed as it is first: in what is no JSON, quotes that no
 * other one closes would make the search go through the rest from each of them.
 */
function parse(text: string): unknown {
  try {
    JSON.parse(text);
    return JSON.parse(
      text.replace(STRING_OR_LONG_INTEGER, (match) => (match[0] === '"' ? match : `"${match}"`)),
    );
  } catch (error) {
    throw new KvidxError('ERR_KVIDX_BAD_EVENT', 'TensorRT-LLM events are no JSON', { cause: error });
  }
}
