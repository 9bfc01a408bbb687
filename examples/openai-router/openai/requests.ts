import { createHash } from 'node:crypto';
import { invalidRequest, type OpenAiError } from './errors.js';

/** What a router and a worker need of a request; whatever else is in its body is the engine's business. */
export interface CompletionRequest {
  readonly kind: 'chat' | 'text';
  readonly model: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly maxTokens: number | undefined;
  /** `prompt_cache_key`, else `user`. */
  readonly session: string | undefined;
  readonly cacheSalt: string | undefined;
  /** A chat, or of a text completion the text or its token ids. */
  readonly prompt: ChatPrompt | string | readonly number[];
}

export interface ChatPrompt {
  readonly messages: readonly Message[];
  /** Each as JSON text. */
  readonly tools: readonly string[] | undefined;
}

export interface Message {
  readonly role: string;
  readonly content: string;
  readonly name?: string;
  /** JSON text. */
  readonly toolCalls?: string;
  readonly toolCallId?: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Sessions and models are kept and compared: nobody gets to make them large. */
export const MAX_NAME_CHARS = 512;
const MAX_TOKEN_ID = 2 ** 32 - 1;

export function readCompletion(kind: 'chat' | 'text', body: unknown): CompletionRequest {
  if (!isObject(body)) throw invalidRequest('The body of the request must be a JSON object.');
  const options = optional(body.stream_options, 'stream_options', object);
  const maxTokens = optional(body.max_tokens, 'max_tokens', count);
  const maxCompletionTokens = optional(body.max_completion_tokens, 'max_completion_tokens', count);
  const cacheKey = optional(body.prompt_cache_key, 'prompt_cache_key', shortText);
  const user = optional(body.user, 'user', shortText);
  return {
    kind,
    model: name(body.model, 'model'),
    stream: optional(body.stream, 'stream', boolean) ?? false,
    includeUsage: optional(options?.include_usage, 'stream_options.include_usage', boolean) ?? false,
    maxTokens: maxCompletionTokens ?? maxTokens,
    session: cacheKey || user || undefined,
    cacheSalt: optional(body.cache_salt, 'cache_salt', name),
    prompt: kind === 'chat' ? readChat(body) : readText(body.prompt),
  };
}

function readChat(body: Fields): ChatPrompt {
  const messages = array(body.messages, 'messages').map((message, i) =>
    readMessage(message, `messages[${i}]`),
  );
  if (messages.length === 0) throw invalidRequest("'messages' must hold at least one message.", 'messages');
  return { messages, tools: optional(body.tools, 'tools', jsonTexts) };
}

function readMessage(value: unknown, param: string): Message {
  const message = object(value, param);
  const role = text(message.role, `${param}.role`);
  const sender = optional(message.name, `${param}.name`, text);
  const toolCalls = optional(message.tool_calls, `${param}.tool_calls`, jsonTexts) ?? [];
  const toolCallId = optional(message.tool_call_id, `${param}.tool_call_id`, text);
  return {
    role,
    content: optional(message.content, `${param}.content`, readContent) ?? '',
    ...(sender !== undefined && { name: sender }),
    ...(toolCalls.length > 0 && { toolCalls: `[${toolCalls}]` }),
    ...(toolCallId !== undefined && { toolCallId }),
  };
}

function readContent(content: unknown, param: string): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw mustBe('a string or an array of parts', content, param);
  return content.map((part, i) => readPart(part, `${param}[${i}]`)).join('\n');
}

function readPart(value: unknown, param: string): string {
  if (typeof value === 'string') return value;
  const part = object(value, param);
  const type = text(part.type, `${param}.type`);
  if (type === 'text') return text(part.text, `${param}.text`);
  return `<|${type}:${createHash('sha256')
    .update(json(identity(part, type), param))
    .digest('hex')}|>`;
}

/**
 * What stands for a part that is no text: the id that vLLM knows it by, else what it carries under the name of its type, as in
 * {type: 'image_url', image_url: {url}}. What lies beside that, such as a mark for caching, may change from turn to turn.
 */
function identity(part: Fields, type: string): unknown {
  const payload = Object.hasOwn(part, type) ? part[type] : undefined;
  return part.uuid ?? payload ?? part;
}

function readText(prompt: unknown): string | readonly number[] {
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt : [prompt];
  if (prompts.length > 1)
    throw invalidRequest(
      `'prompt' holds ${prompts.length} prompts; send each in a request of its own.`,
      'prompt',
    );
  const only: unknown = prompts.length === 0 ? '' : prompts[0];
  if (only === '' || (Array.isArray(only) && only.length === 0))
    throw invalidRequest("'prompt' is empty.", 'prompt');
  if (typeof only === 'string') return only;
  if (!Array.isArray(only)) throw mustBe('a string or an array of token ids', only, 'prompt');
  const bad = only.findIndex((id) => !Number.isInteger(id) || id < 0 || id > MAX_TOKEN_ID);
  if (bad >= 0) throw mustBe(`an integer from 0 to ${MAX_TOKEN_ID}`, only[bad], `prompt[${bad}]`);
  return only;
}

/** As the OpenAI API does, `null` means: not given. */
function optional<T>(
  value: unknown,
  param: string,
  read: (value: unknown, param: string) => T,
): T | undefined {
  return value === undefined || value === null ? undefined : read(value, param);
}

function text(value: unknown, param: string): string {
  if (typeof value !== 'string') throw mustBe('a string', value, param);
  return value;
}

function shortText(value: unknown, param: string): string {
  const short = text(value, param);
  if (short.length > MAX_NAME_CHARS)
    throw invalidRequest(`'${param}' is longer than ${MAX_NAME_CHARS} characters.`, param);
  return short;
}

function name(value: unknown, param: string): string {
  const filled = shortText(value, param);
  if (filled === '') throw invalidRequest(`'${param}' is empty.`, param);
  return filled;
}

function boolean(value: unknown, param: string): boolean {
  if (typeof value !== 'boolean') throw mustBe('true or false', value, param);
  return value;
}

function count(value: unknown, param: string): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw mustBe('a whole number of at least 0', value, param);
  return value as number;
}

function array(value: unknown, param: string): readonly unknown[] {
  if (!Array.isArray(value)) throw mustBe('an array', value, param);
  return value;
}

function object(value: unknown, param: string): Fields {
  if (!isObject(value)) throw mustBe('an object', value, param);
  return value;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Each item of a list by itself. */
function jsonTexts(value: unknown, param: string): string[] {
  return Array.isArray(value) ? value.map((item, i) => json(item, `${param}[${i}]`)) : [json(value, param)];
}

/** `JSON.parse` takes any depth, `JSON.stringify` runs out of stack at some. */
function json(value: unknown, param: string): string {
  try {
    return JSON.stringify(value);
  } catch {
    throw invalidRequest(`'${param}' is nested too deeply.`, param);
  }
}

function mustBe(expected: string, value: unknown, param: string): OpenAiError {
  const trouble =
    value === undefined ? `is missing: it must be ${expected}` : `must be ${expected}, not ${kindOf(value)}`;
  return invalidRequest(`'${param}' ${trouble}.`, param);
}

function kindOf(value: unknown): string {
  if (typeof value === 'string') return 'a string';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' && value !== null ? 'an object' : `${value}`;
}
