/** Prose of this length takes less than a millisecond, Chinese some. Where no good place to cut comes, a part is up to twice as long. */
const PART_CHARS = 1024;
/** Longer than the words of people and of code; a multiple of three, since o200k_base takes digits by threes. */
const MAX_WORD_CHARS = 240;

/** What tokenizers take as one word, at most: letters, digits, blanks, or other signs with the line ends after them. */
const KINDS = [
  String.raw`[\p{L}\p{M}]`,
  String.raw`\p{N}`,
  String.raw`\s`,
  String.raw`(?:[^\s\p{L}\p{N}]|[\r\n])`,
];
const WORDS = new RegExp(KINDS.map((kind) => `${kind}{1,${MAX_WORD_CHARS}}`).join('|'), 'uy');
const LETTER = /\p{L}/u;
/** Behind a letter these begin a word in all tokenizers. Not so an apostrophe, nor what stands in special tokens. */
const BEGINS_A_WORD = /(?!')[\s\p{Po}\p{Ps}]/u;

/**
 * Cuts a text where tokenizers cut it too, so that its parts have the tokens of the whole. Where such a place is too far off it
 * is cut elsewhere, not quite as an engine does, but always in the same places.
 *
 * Long words are parts of their own: the time of byte-pair merging grows with the square of a word's length, and 128 kB of
 * emoji without a space would stop the process for most of a minute.
 */
export function* partsOf(text: string): Generator<string> {
  let start = 0;
  for (let [wordStart, end] = [0, 0]; end < text.length; wordStart = end) {
    WORDS.lastIndex = wordStart;
    WORDS.test(text); // any text consists of such words
    end = WORDS.lastIndex;
    if (end - wordStart < MAX_WORD_CHARS && !isTimeToCut(text, start, end)) continue;
    yield text.slice(start, end);
    start = end;
  }
  if (start < text.length) yield text.slice(start);
}

/** Best before a blank: tokenizers that mark the start of a text as one of a word find one there anyway. */
function isTimeToCut(text: string, start: number, end: number): boolean {
  const length = end - start;
  if (length < PART_CHARS) return false;
  if (length >= 2 * PART_CHARS) return true;
  if (end === text.length || !LETTER.test(text[end - 1]!)) return false;
  return text[end] === ' ' || (length >= 1.5 * PART_CHARS && BEGINS_A_WORD.test(text[end]!));
}
