import { expect, it } from 'vitest';
import {
  internalError,
  invalidRequest,
  modelNotFound,
  OpenAiError,
  overloaded,
  tooLarge,
  upstreamFailed,
  upstreamTimeout,
} from '../../../examples/openai-router/openai/errors.js';

it.each([
  [invalidRequest('no', 'messages[0]'), 400, 'invalid_request_error', 'messages[0]', null],
  [invalidRequest('no'), 400, 'invalid_request_error', null, null],
  [modelNotFound('m'), 404, 'invalid_request_error', 'model', 'model_not_found'],
  [tooLarge(10), 413, 'invalid_request_error', null, 'request_too_large'],
  [overloaded('full'), 503, 'server_error', null, 'overloaded'],
  [upstreamFailed('gone'), 502, 'server_error', null, 'upstream_error'],
  [upstreamTimeout('late'), 504, 'server_error', null, 'upstream_timeout'],
  [internalError('sorry'), 500, 'server_error', null, null],
])('%s has the shape of an OpenAI error', (error, status, type, param, code) => {
  expect(error).toBeInstanceOf(OpenAiError);
  expect(error.status).toBe(status);
  expect(error.body()).toEqual({ error: { message: error.message, type, param, code } });
});

it('an overloaded answer says when to come again', () => {
  expect(overloaded('full', 2).retryAfterS).toBe(2);
  expect(overloaded('full').retryAfterS).toBeUndefined();
});
