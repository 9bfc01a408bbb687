import { invalidArgType, outOfRange } from '../../errors.js';
import { guarded } from '../../guarded.js';
import { checkDelay, checkFunction, checkInteger, checkTime } from '../../validate.js';
import { checkTargetFpp, DEFAULT_TARGET_FPP } from '../sizing.js';
import { checkTransport } from '../transport/transport.js';
import type { ResidentBlocks, SketchPublisherOptions } from '../types.js';
import { type CarefulTransport, carefully } from './careful-transport.js';
import { DEFAULT_PREFIX, type WorkerChannels, workerChannels } from './channels.js';
import type { SeriesSettings } from './frame-series.js';

export interface PublisherSettings {
  readonly transport: CarefulTransport;
  readonly channels: WorkerChannels;
  readonly resident: ResidentBlocks;
  readonly series: SeriesSettings;
  readonly everyMs: number;
  readonly grantEveryMs: number;
  readonly latestTtlMs: number;
  readonly tell: (error: unknown) => void;
  readonly now: () => number;
}

/** Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
export function checkPublisherOptions(options: SketchPublisherOptions): PublisherSettings {
  if (typeof options !== 'object' || options === null) throw invalidArgType('options', 'an object', options);
  const {
    transport,
    worker,
    resident,
    targetFpp = DEFAULT_TARGET_FPP,
    headroom = 0.1,
    prefix = DEFAULT_PREFIX,
    everyMs = 1000,
    fullEvery = 60,
    fullEveryMs = 30_000,
    grantEveryMs = 200,
    latestTtlMs = 300_000,
    onError,
    now = Date.now,
  } = options;
  if (typeof resident?.hashes !== 'function')
    throw invalidArgType('resident', 'an object with blockSize and hashes', resident);
  return {
    transport: carefully(checkTransport(transport)),
    channels: workerChannels(prefix, worker),
    resident,
    series: {
      worker,
      blockSize: checkInteger('resident.blockSize', resident.blockSize, 1, 0xffff),
      targetFpp: checkTargetFpp(targetFpp),
      headroom: checkHeadroom(headroom),
      fullEvery: checkInteger('fullEvery', fullEvery, 1, Number.MAX_SAFE_INTEGER),
      fullEveryMs: checkTime('fullEveryMs', fullEveryMs),
    },
    everyMs: checkDelay('everyMs', everyMs, 1),
    grantEveryMs: checkDelay('grantEveryMs', grantEveryMs),
    latestTtlMs: checkDelay('latestTtlMs', latestTtlMs, 1),
    tell: guarded(onError && checkFunction('onError', onError)),
    now: checkFunction('now', now),
  };
}

function checkHeadroom(value: unknown): number {
  if (typeof value !== 'number') throw invalidArgType('headroom', 'a number', value);
  if (!(value >= 0 && value <= 10)) throw outOfRange('headroom', 'from 0 to 10', value);
  return value;
}
