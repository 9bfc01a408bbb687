import type { CompletionRequest } from '../openai/requests.js';
import type { Tokenizer } from '../openai/tokenizer.js';

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

/** Frequent ones: in most vocabularies they are one token each, alone and behind a space. */
const WORDS = (
  'the of and to in is that for it as was with be by on not but at are this have from or an which one all would ' +
  'their we has when more if out so up what about than into them can only other time new some could these two may ' +
  'first then do any like now over such our even most made after also many before through back where much way well ' +
  'down long each just state those people too how good make world still see own work here get between both life ' +
  'under never day same another while last great old year off come since against go right take three'
).split(' ');

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

/** Each behind a space. FNV-1a of the prompt, then a linear congruential generator. */
function makeWords(prompt: Uint32Array, count: number): string[] {
  let state = 0x811c9dc5;
  for (const token of prompt) state = Math.imul(state ^ token, 0x0100_0193);
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return ` ${WORDS[(state >>> 16) % WORDS.length]}`;
  });
}
