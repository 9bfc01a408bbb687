import { LRUCache } from 'lru-cache';
import type { ChatPrompt, CompletionRequest, Message } from './requests.js';
import type { Tokenizer } from './tokenizer.js';

const GENERATION_PROMPT = '<|im_start|>assistant\n';
const MESSAGE_END = '<|im_end|>\n';

/** An entry's two objects and its place in the cache, about. */
const ENTRY_BYTES = 200;

/**
 * Prompts as tokens, piece by piece, each piece encoded by itself:
 *
 *   [tools] { <|im_start|>role\n | content | [tool calls] | <|im_end|>\n } … <|im_start|>assistant\n
 *
 * No token reaches over the end of a piece, so that a longer history extends a shorter one token by token, the answer
 * included. An engine that renders its chat template to one text and encodes that may differ by a token at a seam.
 */
export class PromptTokenizer {
  readonly tokenizer: Tokenizer;
  /** Of a growing chat only the new pieces are encoded. */
  readonly #pieces: LRUCache<string, Uint32Array>;

  constructor(tokenizer: Tokenizer, { maxCacheBytes = 64 * 2 ** 20 }: { maxCacheBytes?: number } = {}) {
    this.tokenizer = tokenizer;
    this.#pieces = new LRUCache({
      maxSize: maxCacheBytes,
      sizeCalculation: (ids, text) => ENTRY_BYTES + 2 * text.length + ids.byteLength,
    });
  }

  /** Bytes of texts and ids in the cache, at most `maxCacheBytes`. */
  get cacheBytes(): number {
    return this.#pieces.calculatedSize;
  }

  tokens({ prompt }: CompletionRequest): Uint32Array {
    if (typeof prompt === 'string') return Uint32Array.from(this.tokenizer.encode(prompt));
    if (!('messages' in prompt)) return Uint32Array.from(prompt);
    const pieces = piecesOf(prompt).map((text) => this.#encode(text));
    const tokens = new Uint32Array(pieces.reduce((length, piece) => length + piece.length, 0));
    let length = 0;
    for (const piece of pieces) {
      tokens.set(piece, length);
      length += piece.length;
    }
    return tokens;
  }

  #encode(text: string): Uint32Array {
    let ids = this.#pieces.get(text);
    if (ids === undefined) {
      ids = Uint32Array.from(this.tokenizer.encode(text));
      this.#pieces.set(text, ids);
    }
    return ids;
  }
}

function piecesOf({ tools, messages }: ChatPrompt): string[] {
  const pieces = messages.flatMap(messagePieces);
  if (tools !== undefined && tools.length > 0)
    pieces.unshift(`<|im_start|>tools\n${tools.join('\n')}${MESSAGE_END}`);
  pieces.push(GENERATION_PROMPT);
  return pieces;
}

function messagePieces({ role, name, toolCallId, content, toolCalls }: Message): string[] {
  const head = [role, name, toolCallId].filter((part) => part !== undefined).join(' ');
  const calls = toolCalls === undefined ? [] : [`\n<|tool_calls|>${toolCalls}`];
  return [`<|im_start|>${head}\n`, content, ...calls, MESSAGE_END];
}
