import OpenAI from 'openai';
import type { ChatBody } from '../../../../examples/openai-router/load/sessions.js';

/** One answer, as the official client sees it. */
export interface Outcome {
  readonly worker: string | undefined;
  /** As the router tells them. */
  readonly expectedTokens: number;
  readonly text: string;
  readonly usage: OpenAI.CompletionUsage | undefined;
  /** Undefined: the answer is whole. */
  readonly error: unknown;
}

/** Nothing takes nearly as long but what would never end. */
const ENDS_WITHIN_MS = 60_000;

/** It tries nothing again by itself. */
export function officialClient(routerUrl: string, session?: string): OpenAI {
  return new OpenAI({
    baseURL: `${routerUrl}/v1`,
    apiKey: 'none',
    maxRetries: 0,
    ...(session !== undefined && { defaultHeaders: { 'x-session-id': session } }),
  });
}

/** Streamed. Never throws: what went wrong is told in the outcome. */
export async function streamTurn(client: OpenAI, session: string, body: ChatBody): Promise<Outcome> {
  const signal = AbortSignal.timeout(ENDS_WITHIN_MS);
  let [text, headers, usage, error]: [string, Headers?, OpenAI.CompletionUsage?, unknown?] = [''];
  try {
    const options = { headers: { 'x-session-id': session }, signal };
    const { data, response } = await client.chat.completions
      .create({ ...chat(body), stream: true, stream_options: { include_usage: true } }, options)
      .withResponse();
    headers = response.headers;
    for await (const chunk of data) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
    }
    // The client ends a stream without a word when it is aborted, or the connection is closed.
    if (usage === undefined) error = new Error(signal.aborted ? 'the stream hung' : 'the stream was cut off');
  } catch (thrown) {
    error = thrown;
  }
  return { ...toldBy(headers), text, usage, error };
}

/** As `streamTurn`, in one piece. */
export async function askTurn(client: OpenAI, session: string, body: ChatBody): Promise<Outcome> {
  try {
    const options = { headers: { 'x-session-id': session }, signal: AbortSignal.timeout(ENDS_WITHIN_MS) };
    const { data, response } = await client.chat.completions.create(chat(body), options).withResponse();
    const text = data.choices[0]?.message.content ?? '';
    return { ...toldBy(response.headers), text, usage: data.usage, error: undefined };
  } catch (error) {
    return { ...toldBy(undefined), text: '', usage: undefined, error };
  }
}

/** Reads the beginning of a streamed answer, and goes away. Answers what went wrong before that. */
export async function hangUp(client: OpenAI, session: string, body: ChatBody): Promise<unknown> {
  try {
    const options = { headers: { 'x-session-id': session }, signal: AbortSignal.timeout(ENDS_WITHIN_MS) };
    const stream = await client.chat.completions.create({ ...chat(body), stream: true }, options);
    for await (const _ of stream) break; // which aborts the request
    return undefined;
  } catch (error) {
    return error;
  }
}

function chat(body: ChatBody): OpenAI.ChatCompletionCreateParamsNonStreaming {
  return body as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming;
}

function toldBy(headers: Headers | undefined): Pick<Outcome, 'worker' | 'expectedTokens'> {
  return {
    worker: headers?.get('x-kvidx-worker') ?? undefined,
    expectedTokens: Number(headers?.get('x-kvidx-expected-tokens')),
  };
}

/** What is not told as OpenAI would: a text that says so; undefined: it is. */
export function unclear(error: unknown): string | undefined {
  if (error instanceof OpenAI.APIError) {
    const { message, type, param, code } = (error.error ?? {}) as Record<string, unknown>;
    const isText = [message, type].every((value) => typeof value === 'string' && value !== '');
    if (isText && param !== undefined && code !== undefined) return undefined;
  }
  return `${error}`;
}
