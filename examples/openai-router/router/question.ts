import type { IncomingHttpHeaders } from 'node:http';
import type { Namespace } from 'kvidx';
import { invalidRequest, modelNotFound } from '../openai/errors.js';
import type { PromptTokenizer } from '../openai/prompt.js';
import { type CompletionRequest, MAX_NAME_CHARS, readCompletion } from '../openai/requests.js';
import type { Workers } from './workers.js';

/** A request as it came. */
export interface Arrived {
  readonly kind: CompletionRequest['kind'];
  readonly headers: IncomingHttpHeaders;
  /** Its body; nothing any more once an answer begins, which may take long. */
  raw: Buffer;
}

/** What is known of a request before it is routed. */
export interface Question extends Arrived {
  readonly request: CompletionRequest;
  readonly session: string | undefined;
  readonly tokens: Uint32Array;
  readonly namespace: Namespace | undefined;
}

interface Sources {
  readonly workers: Workers;
  readonly prompts: PromptTokenizer;
}

const SESSION_HEADER = 'x-session-id';

/** Throws OpenAiError, or the reason of an abort. */
export async function readQuestion(
  arrived: Arrived,
  { workers, prompts }: Sources,
  signal?: AbortSignal,
): Promise<Question> {
  const { kind, headers, raw } = arrived;
  const request = readCompletion(kind, parse(raw));
  if (!workers.knows(request.model)) throw modelNotFound(request.model);
  const session = headers[SESSION_HEADER]?.toString() || request.session;
  checkName(session, `A session (${SESSION_HEADER}, prompt_cache_key or user)`);
  const lora = workers.loraOf(request.model);
  const salt = request.cacheSalt;
  checkName(salt, "'cache_salt'", 'cache_salt');
  return {
    ...arrived,
    request,
    session,
    tokens: await prompts.tokens(request, signal),
    namespace: lora === undefined && salt === undefined ? undefined : { lora, salt },
  };
}

function parse(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString());
  } catch (error) {
    throw invalidRequest(`The body is not JSON: ${(error as Error).message}`);
  }
}

/** The index hashes names as UTF-8, which lone surrogates have no place in; those that begin with NUL are its own. */
function checkName(name: string | undefined, what: string, param?: string): void {
  if (name === undefined) return;
  if (name.length > MAX_NAME_CHARS)
    throw invalidRequest(`${what} is longer than ${MAX_NAME_CHARS} characters.`, param);
  if (/^\0|\p{Surrogate}/u.test(name))
    throw invalidRequest(`${what} begins with NUL or is not well-formed Unicode.`, param);
}
