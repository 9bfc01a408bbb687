import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { partsOf } from './parts.js';

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
  return { name: 'o200k_base', encode: inParts((text) => encode(text, options)) };
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
    return { name: path, encode: inParts(encode) };
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

/** Part by part: no text, and no word in it, is too long for the tokenizer. */
function inParts(encode: (text: string) => readonly number[]): (text: string) => number[] {
  return (text) => {
    const ids: number[] = [];
    for (const part of partsOf(text)) for (const id of encode(part)) ids.push(id);
    return ids;
  };
}
