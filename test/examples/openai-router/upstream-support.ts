import { Agent } from 'undici';
import { expect, onTestFinished } from 'vitest';
import {
  callWorker,
  type Failure,
  type UpstreamCall,
  UpstreamFailure,
} from '../../../examples/openai-router/router/upstream.js';
import { stubWorker } from './router-support.js';
import type { AnswerOf, StubWorker } from './stub-worker.js';

/** A worker, and a call to it, which end with the test. */
export async function open(answer?: AnswerOf) {
  const worker = await stubWorker(answer && { answer });
  return { worker, ...call(worker.url) };
}

export function call(url: string, given: Partial<UpstreamCall> = {}) {
  const dispatcher = new Agent({ connect: { timeout: 2000 } });
  onTestFinished(() => dispatcher.destroy());
  const controller = new AbortController();
  const answer = (more: Partial<UpstreamCall> = {}) =>
    callWorker({
      dispatcher,
      url: `${url}/v1/chat/completions`,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from('{"stream":true}'),
      controller,
      patienceMs: 20_000,
      idleMs: 20_000,
      ...given,
      ...more,
    });
  return { controller, answer };
}

export async function textOf({ pieces }: { pieces: AsyncIterable<Buffer> }): Promise<string[]> {
  const texts: string[] = [];
  for await (const piece of pieces) texts.push(piece.toString());
  return texts;
}

export async function failureOf(promise: Promise<unknown>): Promise<{ failure: Failure; message: string }> {
  const error = await promise.then(
    () => expect.fail('it did not fail'),
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(UpstreamFailure);
  return error;
}

/** The worker sees the end of its only request. */
export const seenBy = (worker: StubWorker) => worker.arrivals[0]!.closed;
