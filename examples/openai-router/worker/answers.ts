import type { CompletionRequest } from '../openai/requests.js';
import type { Tokenizer } from '../openai/tokenizer.js';
import { seedOf, wordSource } from '../words.js';

export type FinishReason = 'stop' | 'length';

export interface Answer {
  /** The text, in pieces of about one token. */
  readonly pieces: readonly string[];
  /** Ids of the whole text: the next turn of a chat, which repeats the text, extends them. */
  readonly ids: readonly number[];
  readonly finishReason: FinishReason;
}

/** Where the request sets no limit. */
export const DEFAULT_ANSWER_TOKENS = 32;

/** Made-up words: always the same for the same prompt. */
export function answerTo(
  { kind, maxTokens }: CompletionRequest,
  prompt: Uint32Array,
  tokenizer: Tokenizer,
): Answer {
  const most = maxTokens ?? DEFAULT_ANSWER_TOKENS;
  let pieces = makeWords(prompt, most);
  if (kind === 'chat') pieces[0] = pieces[0]!.trimStart(); // a text goes on from its prompt instead
  let ids = encode(pieces, tokenizer);
  // In another vocabulary a word may be several tokens.
  while (ids.length > most && pieces.length > 1) {
    pieces = pieces.slice(0, Math.max(1, Math.floor((pieces.length * most) / ids.length)));
    ids = encode(pieces, tokenizer);
  }
  const isCutOff = maxTokens !== undefined && ids.length >= maxTokens;
  return { pieces, ids, finishReason: isCutOff ? 'length' : 'stop' };
}

function encode(pieces: readonly string[], tokenizer: Tokenizer): number[] {
  return Array.from(tokenizer.encode(pieces.join('')));
}

/** Each behind a space. */
function makeWords(prompt: Uint32Array, count: number): string[] {
  const next = wordSource(seedOf(prompt));
  return Array.from({ length: count }, () => ` ${next()}`);
}
