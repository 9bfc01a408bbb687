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
  const { encode } = await import('gpt-tokenizer/encoding/o200k_base');
  // None is refused and none is allowed: what looks like a special token is plain text.
  const options = { disallowedSpecial: new Set<string>() };
  return { name: 'o200k_base', encode: (text) => encode(text, options) };
}

async function loadHuggingFace(path: string): Promise<Tokenizer> {
  const { Tokenizer } = await import('@huggingface/tokenizers');
  try {
    const tokenizer = new Tokenizer(
      await readJson(path),
      await readJson(join(dirname(path), 'tokenizer_config.json')).catch(() => ({})),
    );
    return { name: path, encode: (text) => tokenizer.encode(text, { add_special_tokens: false }).ids };
  } catch (error) {
    throw new Error(`${path} is not a tokenizer.json: ${(error as Error).message}`, { cause: error });
  }
}

async function readJson(path: string): Promise<object> {
  return JSON.parse(await readFile(path, 'utf8'));
}
