interface Details {
  readonly type?: string;
  readonly param?: string | undefined;
  readonly code?: string;
  readonly retryAfterS?: number | undefined;
}

/** An error as the OpenAI API words it, so that its official clients name, retry and show it as they would OpenAI's. */
export class OpenAiError extends Error {
  override readonly name = 'OpenAiError';
  readonly status: number;
  readonly type: string;
  /** The field of the request that is at fault, as a path: `messages[2].content`. */
  readonly param: string | null;
  readonly code: string | null;
  /** Seconds, for the header `retry-after`. */
  readonly retryAfterS: number | undefined;

  constructor(status: number, message: string, { type, param, code, retryAfterS }: Details = {}) {
    super(message);
    this.status = status;
    this.type = type ?? (status < 500 ? 'invalid_request_error' : 'server_error');
    this.param = param ?? null;
    this.code = code ?? null;
    this.retryAfterS = retryAfterS;
  }

  body(): { error: { message: string; type: string; param: string | null; code: string | null } } {
    const { message, type, param, code } = this;
    return { error: { message, type, param, code } };
  }
}

export function invalidRequest(message: string, param?: string): OpenAiError {
  return new OpenAiError(400, message, { param });
}

export function modelNotFound(model: string): OpenAiError {
  return new OpenAiError(404, `The model '${model}' does not exist.`, {
    param: 'model',
    code: 'model_not_found',
  });
}

export function tooLarge(limitBytes: number): OpenAiError {
  return new OpenAiError(413, `The request body is larger than ${limitBytes} bytes.`, {
    code: 'request_too_large',
  });
}

export function overloaded(message: string, retryAfterS?: number): OpenAiError {
  return new OpenAiError(503, message, { code: 'overloaded', retryAfterS });
}

export function upstreamFailed(message: string): OpenAiError {
  return new OpenAiError(502, message, { code: 'upstream_error' });
}

export function upstreamTimeout(message: string): OpenAiError {
  return new OpenAiError(504, message, { code: 'upstream_timeout' });
}

export function internalError(message: string): OpenAiError {
  return new OpenAiError(500, message);
}
