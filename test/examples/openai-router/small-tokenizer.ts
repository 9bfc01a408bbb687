import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz<>|_:[]{}"'];
const MERGES = ['h e', 'l l', 'he ll', 'hell o', 'Ġ w', 'Ġw o', 'r l', 'rl d', 'Ġwo rld'];

const VOCABULARY = [
  '<s>',
  '<|im_start|>',
  '<|im_end|>',
  'Ġ',
  'Ċ',
  ...LETTERS,
  ...MERGES.map((pair) => pair.replace(' ', '')),
];

/** A byte-level BPE tokenizer in the format of Hugging Face, made by hand: `Ġ` is a blank, `Ċ` a line end. */
export const SMALL_TOKENIZER = {
  version: '1.0',
  truncation: null,
  padding: null,
  added_tokens: VOCABULARY.slice(0, 3).map((content, id) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  })),
  normalizer: null,
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
  post_processor: {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
    pair: [],
    special_tokens: { '<s>': { id: '<s>', ids: [0], tokens: ['<s>'] } },
  },
  decoder: { type: 'ByteLevel' },
  model: {
    type: 'BPE',
    unk_token: null,
    continuing_subword_prefix: '',
    end_of_word_suffix: '',
    vocab: Object.fromEntries(VOCABULARY.map((token, id) => [token, id])),
    merges: MERGES,
  },
};

/** The ids of tokens, by their names in the vocabulary. */
export function idsOf(...tokens: string[]): number[] {
  return tokens.map((token) => VOCABULARY.indexOf(token));
}

/** Writes `content` where a model's repository has its tokenizer.json, and answers the path. */
export function writeTokenizer(
  directory: string,
  content: unknown = SMALL_TOKENIZER,
  config?: unknown,
): string {
  mkdirSync(directory, { recursive: true });
  if (config !== undefined) writeFileSync(join(directory, 'tokenizer_config.json'), textOf(config));
  const path = join(directory, 'tokenizer.json');
  writeFileSync(path, textOf(content));
  return path;
}

function textOf(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content);
}
