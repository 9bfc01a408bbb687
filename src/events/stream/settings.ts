import { checkDelay, checkInteger } from '../../validate.js';

/** Bounds and times of a stream. */
export interface StreamOptions {
  /** Nothing new for so long: the engine is asked whether there is more. Default 1,000. */
  readonly idleProbeMs?: number;
  /** A replay that is silent for so long has failed. Default 5,000. */
  readonly replayTimeoutMs?: number;
  /** Messages that wait for missing ones before them, at most. Default 10,000. */
  readonly maxHeldMessages?: number;
  /** Bytes of their payloads, at most. Default 64 MiB. */
  readonly maxHeldBytes?: number;
  /** A message waits no longer than that for a replay that does not answer. Default 10,000. */
  readonly maxHoldMs?: number;
}

export type StreamSettings = Required<StreamOptions>;

/** Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
export function checkStreamOptions(options: StreamOptions): StreamSettings {
  const {
    idleProbeMs = 1000,
    replayTimeoutMs = 5000,
    maxHeldMessages = 10_000,
    maxHeldBytes = 64 * 2 ** 20,
    maxHoldMs = 10_000,
  } = options;
  return {
    idleProbeMs: checkDelay('idleProbeMs', idleProbeMs, 1),
    replayTimeoutMs: checkDelay('replayTimeoutMs', replayTimeoutMs, 1),
    maxHeldMessages: checkInteger('maxHeldMessages', maxHeldMessages, 1, Number.MAX_SAFE_INTEGER),
    maxHeldBytes: checkInteger('maxHeldBytes', maxHeldBytes, 1, Number.MAX_SAFE_INTEGER),
    maxHoldMs: checkDelay('maxHoldMs', maxHoldMs, 0),
  };
}
