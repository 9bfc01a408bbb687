import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { CompletionRequest } from '../openai/requests.js';
import type { Answer } from './answers.js';
import type { Engine, Pace, Prompt } from './engine.js';
import type { Mode } from './modes.js';
import { writerFor } from './writers.js';

/** `slow` takes so many times as long. */
const SLOWNESS = 10;
/** So many pieces of an answer come before it breaks off, or fewer, so that some are left. */
const PIECES_BEFORE_TROUBLE = 4;
/** Ends an answer that ends by itself. Which id it is does not matter: it is never an input. */
const STOP_TOKEN = 0;

export interface Job {
  readonly request: CompletionRequest;
  readonly prompt: Prompt;
  readonly answer: Answer;
  readonly mode: Mode;
  readonly response: ServerResponse;
  /** The client is gone. */
  readonly hungUp: AbortSignal;
}

/** From prefill to the last byte, for a request that has entered. Rejects with the reason of `hungUp`. */
export async function serve(engine: Engine, job: Job): Promise<void> {
  const { request, prompt, answer, mode, response, hungUp } = job;
  const { pieces, ids, finishReason } = answer;
  if (mode === 'stall') await forEver(hungUp);
  const writer = writerFor(request, response, hungUp);
  const pace: Pace = { slowness: mode === 'slow' ? SLOWNESS : 1, signal: hungUp };
  writer.begin();
  const cachedTokens = await engine.prefill(prompt, pace);
  const firstMs = performance.now();
  const last = pieces.length - 1;
  for (const [i, piece] of pieces.entries()) {
    await engine.step(i, firstMs, pace);
    if (i === Math.min(PIECES_BEFORE_TROUBLE, last)) {
      if (mode === 'break') {
        await setImmediate(); // what was written is on its way
        return void response.destroy();
      }
      if (mode === 'hang') await forEver(hungUp);
    }
    await writer.write(piece, i === last ? finishReason : null);
  }
  engine.finish(prompt, finishReason === 'stop' ? [...ids, STOP_TOKEN] : ids);
  writer.end({
    prompt_tokens: prompt.tokens.length,
    completion_tokens: ids.length,
    total_tokens: prompt.tokens.length + ids.length,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  });
}

/** Until the client hangs up. */
async function forEver(hungUp: AbortSignal): Promise<never> {
  hungUp.throwIfAborted();
  await once(hungUp, 'abort');
  throw hungUp.reason;
}
