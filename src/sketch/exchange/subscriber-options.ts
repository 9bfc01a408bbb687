import { invalidArgType } from '../../errors.js';
import { guarded } from '../../guarded.js';
import { DEFAULT_BLOCK_SIZE } from '../../hash/block-hasher.js';
import { checkDelay, checkFunction, checkInteger, checkName, checkTime } from '../../validate.js';
import { checkTransport } from '../transport/transport.js';
import type { SketchSubscriberOptions } from '../types.js';
import { type CarefulTransport, carefully } from './careful-transport.js';
import { DEFAULT_PREFIX } from './channels.js';

export interface SubscriberSettings {
  readonly transport: CarefulTransport;
  readonly blockSize: number;
  readonly prefix: string;
  readonly maxWorkers: number;
  readonly maxBytes: number;
  readonly wantEveryMs: number;
  readonly yieldAfterMs: number;
  readonly tell: (error: unknown, worker: string) => void;
  readonly now: () => number;
}

/** Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
export function checkSubscriberOptions(options: SketchSubscriberOptions): SubscriberSettings {
  if (typeof options !== 'object' || options === null) throw invalidArgType('options', 'an object', options);
  const {
    transport,
    blockSize = DEFAULT_BLOCK_SIZE,
    prefix = DEFAULT_PREFIX,
    maxWorkers = 1024,
    maxBytes = 256 * 2 ** 20,
    wantEveryMs = 1000,
    yieldAfterMs = 60_000,
    onError,
    now = Date.now,
  } = options;
  return {
    transport: carefully(checkTransport(transport)),
    blockSize: checkInteger('blockSize', blockSize, 1, 0xffff),
    prefix: checkName('prefix', prefix),
    maxWorkers: checkInteger('maxWorkers', maxWorkers, 1, Number.MAX_SAFE_INTEGER),
    maxBytes: checkInteger('maxBytes', maxBytes, 0, Number.MAX_SAFE_INTEGER),
    wantEveryMs: checkDelay('wantEveryMs', wantEveryMs, 1),
    yieldAfterMs: checkTime('yieldAfterMs', yieldAfterMs),
    tell: guarded(onError && checkFunction('onError', onError)),
    now: checkFunction('now', now),
  };
}
