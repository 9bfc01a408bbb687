import type { ServerResponse } from 'node:http';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { internalError, invalidRequest, modelNotFound, OpenAiError, overloaded } from '../openai/errors.js';
import { answerError, answerUnknownPath } from '../openai/http-errors.js';
import type { PromptTokenizer } from '../openai/prompt.js';
import { type CompletionRequest, readCompletion } from '../openai/requests.js';
import { answerTo, DEFAULT_ANSWER_TOKENS } from './answers.js';
import type { Engine, Prompt } from './engine.js';
import { isMode, MODES, type Modes } from './modes.js';
import { serve } from './serve.js';

const BODY_LIMIT = 32 * 2 ** 20;
/** Prompt and answer. */
const MAX_MODEL_TOKENS = 262_144;

export interface ServerParts {
  readonly name: string;
  readonly model: string;
  readonly engine: Engine;
  readonly prompts: PromptTokenizer;
  readonly modes: Modes;
}

/** The worker's HTTP: what an OpenAI-compatible engine answers, and `/fake` to look at it and to change how it behaves. */
export function createServer(parts: ServerParts): FastifyInstance {
  const { name, model, engine, prompts, modes } = parts;
  // Streams under way would hold up a close for as long as they like.
  const server = Fastify({
    logger: { level: 'error', stream: process.stderr },
    bodyLimit: BODY_LIMIT,
    forceCloseConnections: true,
    frameworkErrors: answerError,
  });
  server.setErrorHandler(answerError);
  server.setNotFoundHandler(answerUnknownPath);
  const created = Math.floor(Date.now() / 1000);
  const state = () => ({ name, mode: modes.current, ...engine.stats() });
  const promptOf = async (request: CompletionRequest, signal?: AbortSignal): Promise<Prompt> => {
    return { tokens: await prompts.tokens(request, signal), cacheSalt: request.cacheSalt };
  };

  const complete = (kind: CompletionRequest['kind']) => async (http: FastifyRequest, reply: FastifyReply) => {
    const request = readCompletion(kind, http.body);
    if (request.model !== model) throw modelNotFound(request.model);
    const response = reply.raw;
    const hungUp = hangUpOf(response);
    const prompt = await promptOf(request, hungUp);
    checkLength(prompt, request);
    const mode = modes.meet();
    if (mode === 'full') throw overloaded('The worker is made to be full.', 1);
    if (mode === 'error') throw internalError('The worker is made to fail.');
    const answer = answerTo(request, prompt.tokens, prompts.tokenizer);
    engine.enter();
    reply.hijack();
    try {
      await serve(engine, { request, prompt, answer, mode, response, hungUp });
    } catch (error) {
      if (!hungUp.aborted) console.error(error);
      response.destroy();
    } finally {
      engine.leave();
    }
  };

  server.post('/v1/chat/completions', complete('chat'));
  server.post('/v1/completions', complete('text'));
  server.get('/v1/models', () => ({
    object: 'list',
    data: [
      {
        id: model,
        object: 'model',
        created,
        owned_by: 'kvidx',
        root: model,
        parent: null,
        max_model_len: MAX_MODEL_TOKENS,
      },
    ],
  }));
  server.get('/health', (_, reply) => reply.send());
  server.get('/fake', state);
  server.post('/fake/mode', ({ body }) => {
    const { mode, after = 0 } = (body ?? {}) as { mode?: unknown; after?: unknown };
    if (!isMode(mode)) throw invalidRequest(`'mode' must be one of ${MODES.join(', ')}.`, 'mode');
    if (!Number.isSafeInteger(after) || (after as number) < 0) {
      throw invalidRequest("'after' must be a whole number of at least 0.", 'after');
    }
    modes.set(mode, after as number);
    return state();
  });
  server.post<{ Querystring: { kind?: string } }>('/fake/held', async ({ body, query }) => {
    const prompt = await promptOf(readCompletion(query.kind === 'text' ? 'text' : 'chat', body));
    return { promptTokens: prompt.tokens.length, heldTokens: engine.heldTokens(prompt) };
  });
  return server;
}

function checkLength(
  { tokens }: Prompt,
  { kind, maxTokens = DEFAULT_ANSWER_TOKENS }: CompletionRequest,
): void {
  if (maxTokens === 0) throw invalidRequest("'max_tokens' must be at least 1.", 'max_tokens');
  if (tokens.length + maxTokens <= MAX_MODEL_TOKENS) return;
  throw invalidRequest(
    `This model's maximum context length is ${MAX_MODEL_TOKENS} tokens: ` +
      `${tokens.length} of the prompt and ${maxTokens} of the answer are more.`,
    kind === 'chat' ? 'messages' : 'prompt',
  );
}

function hangUpOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => controller.abort(new OpenAiError(499, 'The client hung up.')));
  return controller.signal;
}
