/** Stable codes of every error that kvidx throws. Programs switch on `code`; messages are for people. */
export type KvidxErrorCode =
  | 'ERR_KVIDX_INVALID_ARG_TYPE'
  | 'ERR_KVIDX_OUT_OF_RANGE'
  | 'ERR_KVIDX_LENGTH_MISMATCH'
  | 'ERR_KVIDX_CLOSED'
  | 'ERR_KVIDX_OUT_OF_MEMORY'
  | 'ERR_KVIDX_CAPACITY'
  | 'ERR_KVIDX_BAD_SNAPSHOT'
  | 'ERR_KVIDX_BAD_FRAME'
  | 'ERR_KVIDX_BAD_TRACE'
  | 'ERR_KVIDX_BAD_EVENT'
  | 'ERR_KVIDX_BAD_RECORDING'
  | 'ERR_KVIDX_BLOCK_SIZE'
  | 'ERR_KVIDX_TRANSPORT'
  | 'ERR_KVIDX_UNKNOWN_WORKER'
  | 'ERR_KVIDX_NO_WORKERS'
  | 'ERR_KVIDX_REJECTED'
  | 'ERR_KVIDX_NATIVE_LOAD'
  | 'ERR_KVIDX_INTERNAL';

/** An error of the outside world or of state: a damaged file, a stale handle, a closed index. */
export class KvidxError extends Error {
  readonly code: KvidxErrorCode;

  constructor(code: KvidxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'KvidxError';
    this.code = code;
  }
}

/** Misuse: a value of the wrong type. A real `TypeError` that also carries a code. */
export function invalidArgType(what: string, expected: string, actual: unknown): TypeError {
  const error = new TypeError(`${what} must be ${expected}, got ${describe(actual)}`);
  return Object.assign(error, { code: 'ERR_KVIDX_INVALID_ARG_TYPE' as const });
}

/** Misuse: a value of the right type outside its range. A real `RangeError` that also carries a code. */
export function outOfRange(what: string, expected: string, actual: unknown): RangeError {
  const error = new RangeError(`${what} must be ${expected}, got ${describe(actual)}`);
  return Object.assign(error, { code: 'ERR_KVIDX_OUT_OF_RANGE' as const });
}

/** Misuse: two arrays whose lengths must agree do not. */
export function lengthMismatch(message: string): RangeError {
  return Object.assign(new RangeError(message), { code: 'ERR_KVIDX_LENGTH_MISMATCH' as const });
}

/** Has this error one of the codes above? Those of the addon do, and are no `KvidxError`. */
export function hasKvidxCode(error: unknown): error is Error & { readonly code: KvidxErrorCode } {
  const { code } = (error ?? {}) as { code?: unknown };
  return error instanceof Error && typeof code === 'string' && code.startsWith('ERR_KVIDX_');
}

function describe(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === 'function') return 'a function';
  if (value === null || typeof value !== 'object') return String(value);
  const name = value.constructor?.name || 'object';
  return `${/^[AEIOaeio]/.test(name) ? 'an' : 'a'} ${name}`;
}
