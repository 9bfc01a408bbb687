import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface Tokenizer {
  readonly name: string;
  encode(text: string): ArrayLike<number>;
}

/** A Hugging Face `tokenizer.json`, or without a path o200k_base: the tokens of GPT-4o and later. */
export function loadTokenizer(path?: string): Promise<Tokenizer> {
  return path === undefined ? loadO200k() : loadHuggingFace(path);
}

async function loadO200k(): Promise<Tokenizer> {
  const { encode, setMergeCacheSize } = await import('gpt-tokenizer/encoding/o200k_base');
  // Its keys are slices of the texts, and each keeps the whole text it was cut from alive.
  setMergeCacheSize(0);
  // With none allowed and none refused, what looks like a special token is plain text.
  const options = { disallowedSpecial: new Set<string>() };
  return { name: 'o200k_base', encode: withBoundedWords((text) => encode(text, options)) };
}

async function loadHuggingFace(path: string): Promise<Tokenizer> {
  const { Tokenizer } = await import('@huggingface/tokenizers');
  const file = await readJson(path);
  const config = await readJson(join(dirname(path), 'tokenizer_config.json'), {});
  try {
    const tokenizer = new Tokenizer(file, config);
    // Without the tokens that a model wants before and after a whole prompt: framing is that of PromptTokenizer.
    const encode = (text: string) => tokenizer.encode(text, { add_special_tokens: false }).ids;
    encode('Some parts of a bad file are found only by use.');
    return { name: path, encode: withBoundedWords(encode) };
  } catch (error) {
    throw unusable(path, error);
  }
}

async function readJson(path: string, otherwise?: object): Promise<object> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (otherwise !== undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') return otherwise;
    throw unusable(path, error);
  }
}

function unusable(path: string, cause: unknown): Error {
  const advice =
    'Give the tokenizer.json from the repository of a model on Hugging Face, or none for o200k_base.';
  return new Error(`Cannot use the tokenizer file ${path}: ${(cause as Error).message}. ${advice}`, {
    cause,
  });
}

/** Longer than the words of people and of code; a multiple of three, since o200k_base takes digits by threes. */
const MAX_WORD_CHARS = 240;
/** What tokenizers take as one word, at most: letters, digits, blanks, or other signs with the line ends after them. */
const KINDS = [
  String.raw`[\p{L}\p{M}]`,
  String.raw`\p{N}`,
  String.raw`\s`,
  String.raw`(?:[^\s\p{L}\p{N}]|[\r\n])`,
];
const WORDS = new RegExp(KINDS.map((kind) => `${kind}{1,${MAX_WORD_CHARS}}`).join('|'), 'gu');

/**
 * The time of byte-pair merging grows with the square of a word's length: 128 kB of emoji without a space would stop the
 * process for most of a minute. So longer words are encoded in parts, not quite as an engine does.
 */
function withBoundedWords(encode: (text: string) => readonly number[]): (text: string) => number[] {
  return (text) => {
    const ids: number[] = [];
    let start = 0;
    const encodeUpTo = (end: number) => {
      for (const id of encode(text.slice(start, end))) ids.push(id);
      start = end;
    };
    for (const { 0: word, index } of text.matchAll(WORDS))
      if (word.length >= MAX_WORD_CHARS) encodeUpTo(index + word.length);
    encodeUpTo(text.length);
    return ids;
  };
}
