import { invalidArgType, type KvidxError, outOfRange } from '../../errors.js';
import { checkDelay, checkFunction, checkInteger, checkOptions } from '../../validate.js';

export interface RedisTransportOptions {
  /**
   * `redis://` or, over TLS, `rediss://`, with user, password and number of the database where there are. Default
   * `redis://127.0.0.1:6379`.
   */
  readonly url?: string;
  /** Default 5,000. */
  readonly connectTimeoutMs?: number;
  /** A call without an answer for so long rejects; a connection that is silent for so long is replaced. Default 1,000. */
  readonly commandTimeoutMs?: number;
  /**
   * The first pause before connecting again, in ms; each further one is twice as long, and up to half of it is left to
   * chance. Default 100.
   */
  readonly reconnectMs?: number;
  /** No pause is longer, in ms. Default 5,000. */
  readonly maxReconnectMs?: number;
  /** Told what befell the connections. Default: nobody is; they are made again in any case. */
  readonly onError?: (error: KvidxError) => void;
}

/** How long the two sides of a connection that is closed have to agree on it. */
const DISCONNECT_MS = 50;
/** Redis counts them in an int. */
const LAST_DATABASE = 2 ** 31 - 1;

const FORM =
  'redis://[user:password@]host[:port][/database], or rediss://…, user and password percent-encoded';

/** No type of ioredis is named here: the package's own types must do without it. */
export type RedisSettings = ReturnType<typeof checkRedisOptions>;

/** Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
export function checkRedisOptions(options: RedisTransportOptions | undefined) {
  const {
    url = 'redis://127.0.0.1:6379',
    connectTimeoutMs = 5000,
    commandTimeoutMs = 1000,
    reconnectMs = 100,
    maxReconnectMs = 5000,
    onError,
  } = checkOptions(options) as RedisTransportOptions;
  const { database, ...place } = readUrl(url);
  checkDelay('reconnectMs', reconnectMs);
  checkDelay('maxReconnectMs', maxReconnectMs);
  return {
    /** For messages: no password. */
    address: `${place.host}:${place.port}`,
    database,
    commandTimeoutMs: checkDelay('commandTimeoutMs', commandTimeoutMs, 1),
    onError: onError && checkFunction('onError', onError),
    connection: {
      ...place,
      lazyConnect: true,
      connectTimeout: checkDelay('connectTimeoutMs', connectTimeoutMs, 1),
      disconnectTimeout: DISCONNECT_MS,
      retryStrategy: (attempt: number) =>
        Math.min(reconnectMs * 2 ** (attempt - 1), maxReconnectMs) * (1 - Math.random() / 2),
      // A silent connection is dropped, with all that was written to it and not sent: nothing piles up.
      socketTimeout: commandTimeoutMs,
      // What was under way when a connection broke is rejected at once, never sent again: later frames supersede it.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      // RedisSubscriptions does it. Here a refusal would be a rejection that nobody can handle.
      autoResubscribe: false,
    },
  };
}

/** The parts one by one: given a URL, ioredis takes options of its own from the query, which win over those above. */
function readUrl(url: unknown) {
  if (typeof url !== 'string') throw invalidArgType('url', 'a string', url);
  const parts = URL.canParse(url) ? new URL(url) : undefined;
  const database = parts && /^\/?(\d*)$/.exec(parts.pathname)?.[1];
  const [username, password] = [decoded(parts?.username), decoded(parts?.password)];
  if (
    !parts ||
    !/^rediss?:$/.test(parts.protocol) ||
    parts.hostname === '' ||
    database === undefined ||
    username === undefined ||
    password === undefined
  ) {
    // The URL itself may hold a password: it is not repeated.
    throw outOfRange('url', `of the form ${FORM}`, 'one of another form');
  }
  return {
    host: parts.hostname.replace(/^\[|\]$/g, ''),
    port: parts.port === '' ? 6379 : Number(parts.port),
    ...(username !== '' && { username }),
    ...(password !== '' && { password }),
    database: checkInteger('the database of url', Number(database), 0, LAST_DATABASE),
    ...(parts.protocol === 'rediss:' && { tls: {} }),
  };
}

/** Undefined: no percent-encoding. */
function decoded(text = ''): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
