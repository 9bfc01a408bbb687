import { LRUCache } from 'lru-cache';
import { partsOf } from './parts.js';
import type { ChatPrompt, CompletionRequest, Message } from './requests.js';
import type { Tokenizer } from './tokenizer.js';
import { Turns } from './turns.js';

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
  readonly #underWay = new Map<string, Promise<Uint32Array>>();
  readonly #turns = new Turns();

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

  /**
   * What is cached costs no turn of the event loop; long texts that are new take many, so that they stop nothing else. Once the
   * signal aborts it rejects with the signal's reason.
   */
  async tokens({ prompt }: CompletionRequest, signal?: AbortSignal): Promise<Uint32Array> {
    if (typeof prompt === 'string') return this.#encode(prompt, signal);
    if (!('messages' in prompt)) return Uint32Array.from(prompt);
    const pieces: Uint32Array[] = [];
    for (const text of piecesOf(prompt))
      pieces.push(this.#pieces.get(text) ?? (await this.#encodePiece(text, signal)));
    return concat(pieces);
  }

  /** What several requests need at once is encoded once. */
  async #encodePiece(text: string, signal: AbortSignal | undefined): Promise<Uint32Array> {
    for (let other = this.#underWay.get(text); other !== undefined; other = this.#underWay.get(text)) {
      // If it fails, as the request that began it was aborted, another one begins anew.
      const ids = await unlessAborted(
        other.catch(() => undefined),
        signal,
      );
      if (ids !== undefined) return ids;
    }
    const encoding = this.#encode(text, signal);
    this.#underWay.set(text, encoding);
    try {
      const ids = await encoding;
      this.#pieces.set(text, ids);
      return ids;
    } finally {
      this.#underWay.delete(text);
    }
  }

  async #encode(text: string, signal: AbortSignal | undefined): Promise<Uint32Array> {
    const parts: Uint32Array[] = [];
    for (const part of partsOf(text)) {
      await this.#turns.next(signal);
      parts.push(Uint32Array.from(this.tokenizer.encode(part)));
    }
    return concat(parts);
  }
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function concat(parts: readonly Uint32Array[]): Uint32Array {
  const whole = new Uint32Array(parts.reduce((length, part) => length + part.length, 0));
  let length = 0;
  for (const part of parts) {
    whole.set(part, length);
    length += part.length;
  }
  return whole;
}

function piecesOf({ tools, messages }: ChatPrompt): string[] {
  const pieces = messages.flatMap(messagePieces);
  if (tools !== undefined && tools.length > 0)
    pieces.unshift(`<|im_start|>tools\n${tools.join('\n')}${MESSAGE_END}`);
  pieces.push(GENERATION_PROMPT);
  return pieces;
}

function messagePieces({ role, name, toolCallId, content, toolCalls }: Message): string[] {
  const head = role + behindBlank(name) + behindBlank(toolCallId);
  const calls = toolCalls === undefined ? [] : [`\n<|tool_calls|>${toolCalls}`];
  return [`<|im_start|>${head}\n`, content, ...calls, MESSAGE_END];
}

function behindBlank(part: string | undefined): string {
  return part === undefined ? '' : ` ${part}`;
}
