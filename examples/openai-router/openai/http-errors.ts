import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { internalError, OpenAiError, tooLarge } from './errors.js';

/** Whatever goes wrong is answered as the OpenAI API would, also where Fastify refuses a body or a path. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const told = error instanceof OpenAiError ? error : translate(error as FastifyError, request);
  if (told.retryAfterS !== undefined) reply.header('retry-after', told.retryAfterS);
  reply.code(told.status).send(told.body());
}

export function answerUnknownPath(request: FastifyRequest, reply: FastifyReply): void {
  const message = `There is no ${request.method} ${request.url} here.`;
  answerError(new OpenAiError(404, message, { code: 'unknown_url' }), request, reply);
}

function translate(error: FastifyError, { routeOptions, log }: FastifyRequest): OpenAiError {
  const { code, statusCode, message } = error;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge(routeOptions.bodyLimit!);
  if (statusCode !== undefined && statusCode < 500) return new OpenAiError(statusCode, message);
  log.error(error);
  return internalError('The server failed; its log says why.');
}
