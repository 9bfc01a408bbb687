import { type Dispatcher, request } from 'undici';

export interface Usage {
  readonly promptTokens: number;
  /** Of these, as the worker tells it. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

export interface Answer {
  /** Undefined: there was no answer. */
  readonly status: number | undefined;
  /** Of the headers that the router adds. */
  readonly worker: string | undefined;
  readonly requestId: string | undefined;
  readonly expectedTokens: number | undefined;
  /** Of what came, also if it was cut off. */
  readonly text: string;
  readonly usage: Usage | undefined;
  /** Until the first byte of the text. */
  readonly firstMs: number | undefined;
  readonly totalMs: number;
  /** What went wrong. Undefined: the answer is whole. */
  readonly error: string | undefined;
}

export interface StreamOptions {
  readonly session?: string;
  readonly dispatcher?: Dispatcher;
  readonly signal?: AbortSignal;
}

const ENDS_WITHIN_MS = 60_000;
/** Of an answer that is not of OpenAI's form. */
const LENGTH_TOLD = 200;
/** The role comes first, with an empty text. */
const CONTENT = /"content":\s*"[^"]/;

/** The first that a server tells of. */
export async function modelOf(url: string): Promise<string> {
  try {
    const { body } = await request(`${url}/v1/models`, { signal: AbortSignal.timeout(ENDS_WITHIN_MS) });
    return ((await body.json()) as { data: [{ id: string }] }).data[0].id;
  } catch (error) {
    throw new Error(`${url}/v1/models does not tell a model: ${(error as Error).message}`);
  }
}

/** One streamed chat completion. Never throws: what went wrong is told in the answer. */
export async function streamChat(url: string, body: object, options: StreamOptions = {}): Promise<Answer> {
  const { session, dispatcher, signal = AbortSignal.timeout(ENDS_WITHIN_MS) } = options;
  const payload = JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } });
  const chunks: Buffer[] = [];
  let [status, headers, firstMs, error]: [number?, Record<string, unknown>?, number?, string?] = [];
  const begin = performance.now();
  try {
    const answer = await request(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(session && { 'x-session-id': session }) },
      body: payload,
      signal,
      ...(dispatcher && { dispatcher }),
    });
    ({ statusCode: status, headers } = answer);
    for await (const chunk of answer.body) {
      if (firstMs === undefined && CONTENT.test(chunk.latin1Slice())) firstMs = performance.now() - begin;
      chunks.push(chunk);
    }
  } catch (thrown) {
    error = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  }
  const totalMs = performance.now() - begin;
  // Only now, so that reading JSON delays no other stream in its midst.
  const received = Buffer.concat(chunks).toString();
  const { text, usage, failure } = status === 200 ? readStream(received) : readRefusal(status, received);
  const expected = headers?.['x-kvidx-expected-tokens'];
  return {
    status,
    worker: headers?.['x-kvidx-worker'] as string | undefined,
    requestId: headers?.['x-kvidx-request-id'] as string | undefined,
    expectedTokens: expected === undefined ? undefined : Number(expected),
    text,
    usage,
    firstMs,
    totalMs,
    error: error ?? failure,
  };
}

interface Read {
  readonly text: string;
  readonly usage: Usage | undefined;
  readonly failure: string | undefined;
}

/** Of server-sent events. One that is not whole is left out. */
export function readStream(received: string): Read {
  let text = '';
  let usage: Usage | undefined;
  const events = received.split('\n\n').slice(0, -1);
  for (const event of events) {
    if (!event.startsWith('data: ')) continue; // a comment, to keep the connection alive
    const data = event.slice('data: '.length);
    if (data === '[DONE]') return { text, usage, failure: undefined };
    const told = parsed(data);
    if (told === undefined) return { text, usage, failure: `not JSON: ${data}` };
    if (told.error) return { text, usage, failure: told.error.message };
    text += told.choices[0]?.delta.content ?? '';
    if (told.usage) usage = readUsage(told.usage);
  }
  return { text, usage, failure: 'the stream was cut off' };
}

function readRefusal(status: number | undefined, received: string): Read {
  const failure = parsed(received)?.error?.message ?? received.slice(0, LENGTH_TOLD);
  return { text: '', usage: undefined, failure: `${status}: ${failure}` };
}

// biome-ignore lint/suspicious/noExplicitAny: what a server says, of which a missing part is told as a failure
function parsed(json: string): any {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function readUsage(told: {
  prompt_tokens: number;
  completion_tokens: number;
  prompt_tokens_details?: { cached_tokens?: number };
}): Usage {
  return {
    promptTokens: told.prompt_tokens,
    completionTokens: told.completion_tokens,
    cachedTokens: told.prompt_tokens_details?.cached_tokens ?? 0,
  };
}
