import { setTimeout as sleep } from 'node:timers/promises';
import { FakeEngine, type KvEvent } from 'kvidx';
import { overloaded } from '../openai/errors.js';
import { Line } from './line.js';

export interface EngineOptions {
  /** Tokens a block, and blocks that the cache holds. */
  readonly blockSize: number;
  readonly capacity: number;
  readonly prefillTokensPerS: number;
  /** From one token of an answer to the next. */
  readonly tokenMs: number;
  /** Requests under way, those that wait for their prefill included. */
  readonly maxRunning: number;
  /** Told of what the cache stores and evicts, step by step. */
  readonly onEvents?: ((events: readonly KvEvent[]) => void) | undefined;
}

export interface Prompt {
  readonly tokens: Uint32Array;
  readonly cacheSalt: string | undefined;
}

/** How one request is served. */
export interface Pace {
  /** 1, or more where everything takes so many times as long. */
  readonly slowness: number;
  /** The client hung up: what waits rejects with the reason, at once. */
  readonly signal: AbortSignal;
}

/** Seconds after which a refused client may come again. */
const RETRY_AFTER_S = 1;

/**
 * Serves like an engine with a prefix cache, without a model: prompts are prefilled one after the other, which takes as long
 * as they have tokens that are not cached, and answers are decoded side by side.
 *
 *   enter ─► prefill (waits its turn) ─► step, step, … ─► finish ─► leave
 *
 * Whoever entered leaves, whatever happened in between.
 */
export class Engine {
  readonly #options: EngineOptions;
  readonly #cache: FakeEngine;
  readonly #line = new Line();
  #underWay = 0;
  #served = 0;
  #promptTokens = 0;
  #cachedTokens = 0;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#cache = new FakeEngine({ blockSize: options.blockSize, capacity: options.capacity });
  }

  /** Throws a refusal where there is no room. */
  enter(): void {
    if (this.#underWay >= this.#options.maxRunning) {
      throw overloaded(`${this.#underWay} requests are under way: no room for another one.`, RETRY_AFTER_S);
    }
    this.#underWay++;
  }

  leave(): void {
    this.#underWay--;
  }

  /** Resolves with the tokens that were cached when its turn came. The rest of the prompt is cached when this is over. */
  prefill(prompt: Prompt, { slowness, signal }: Pace): Promise<number> {
    return this.#line.run(signal, async () => {
      const cachedTokens = this.#cache.cachedTokens(prompt);
      const newTokens = prompt.tokens.length - cachedTokens;
      const ms = (newTokens / this.#options.prefillTokensPerS) * 1000;
      await sleep(ms * slowness, undefined, { signal });
      this.#store(prompt, []);
      this.#promptTokens += prompt.tokens.length;
      this.#cachedTokens += cachedTokens;
      return cachedTokens;
    });
  }

  /**
   * Resolves when so many tokens have come behind the first one, which came at `firstMs` of `performance.now()`. An engine's
   * steps do not wait for whoever reads, and a step that comes late does not make later ones late.
   */
  async step(tokens: number, firstMs: number, { slowness, signal }: Pace): Promise<void> {
    const ms = firstMs + tokens * this.#options.tokenMs * slowness - performance.now();
    if (ms > 0) await sleep(ms, undefined, { signal });
    else signal.throwIfAborted();
  }

  /** The answer is complete, and cached behind its prompt, its last token excepted: that was never an input. */
  finish(prompt: Prompt, output: readonly number[]): void {
    this.#store(prompt, output);
    this.#served++;
  }

  /** Tokens of the prompt that are cached now. */
  heldTokens(prompt: Prompt): number {
    return this.#cache.cachedTokens(prompt);
  }

  stats() {
    const { waiting } = this.#line;
    return {
      running: this.#underWay - waiting,
      waiting,
      served: this.#served,
      promptTokens: this.#promptTokens,
      cachedTokens: this.#cachedTokens,
      blocks: this.#cache.blocks().length,
    };
  }

  #store(prompt: Prompt, output: readonly number[]): void {
    const { batches } = this.#cache.serve({ ...prompt, output });
    for (const events of batches) this.#options.onEvents?.(events);
  }
}
