import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { internalError, invalidRequest, OpenAiError, tooLarge } from '../openai/errors.js';

/** Whatever goes wrong is answered as the OpenAI API would, also where Fastify refuses a body or a path. */
export function answerError(error: unknown, { routeOptions }: FastifyRequest, reply: FastifyReply): void {
  const told =
    error instanceof OpenAiError ? error : translate(error as FastifyError, routeOptions.bodyLimit);
  if (told.retryAfterS !== undefined) reply.header('retry-after', told.retryAfterS);
  reply.code(told.status).send(told.body());
}

export function answerUnknownPath(request: FastifyRequest, reply: FastifyReply): void {
  const message = `There is no ${request.method} ${request.url}.`;
  answerError(new OpenAiError(404, message, { code: 'unknown_url' }), request, reply);
}

function translate(error: FastifyError, bodyLimit: number | undefined): OpenAiError {
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge(bodyLimit!);
  if (error.statusCode !== undefined && error.statusCode < 500) return invalidRequest(error.message);
  console.error(error);
  return internalError('The worker failed.');
}
