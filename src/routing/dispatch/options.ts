import { invalidArgType, outOfRange } from '../../errors.js';
import { Random } from '../../random.js';
import {
  checkBoolean,
  checkDelay,
  checkFunction,
  checkInteger,
  checkName,
  checkOptions,
} from '../../validate.js';
import type { BackoffOptions } from './backoff.js';
import { type Clock, neverAtOnce, systemClock } from './clock.js';
import type { SeedLimits } from './seed-budget.js';
import type { DispatcherOptions, DispatchRouter } from './types.js';

export interface DispatcherSettings {
  readonly admit: DispatcherOptions['admit'];
  readonly release: NonNullable<DispatcherOptions['release']>;
  readonly admitTimeoutMs: number;
  readonly backoff: Required<BackoffOptions>;
  readonly maxPauseMs: number;
  readonly seeds: SeedLimits;
  readonly sketches: boolean;
  readonly prefillWorkers: readonly string[];
  readonly random: Random;
  readonly clock: Clock;
}

const MAX_SEEDS = 0xffff_ffff;
const METHODS = [
  ...['route', 'reroute', 'assign', 'workers'],
  ...['onDispatch', 'onReject', 'onError', 'whenPrefilled'],
] as (keyof DispatchRouter)[];

export function checkRouter(router: DispatchRouter): DispatchRouter {
  for (const method of METHODS) {
    if (typeof router?.[method] !== 'function') throw invalidArgType('router', 'a Router', router);
  }
  return router;
}

export function checkDispatcherOptions(options: DispatcherOptions): DispatcherSettings {
  if (options === undefined) throw invalidArgType('options', 'an object', options);
  const {
    admit,
    release = () => {},
    admitTimeoutMs = 1000,
    backoff,
    maxPauseMs = 2000,
    maxPendingSeeds = 4,
    maxQueuedSeeds = 64,
    seedDeadlineMs = 10_000,
    seedLeaseMs = 120_000,
    sketches = false,
    prefillWorkers = [],
    seed = Math.floor(Math.random() * 2 ** 32),
    clock = systemClock,
  } = checkOptions(options) as DispatcherOptions;
  if (!Array.isArray(prefillWorkers))
    throw invalidArgType('prefillWorkers', 'an array of names', prefillWorkers);
  return {
    sketches: checkBoolean('sketches', sketches),
    admit: checkFunction('admit', admit),
    release: checkFunction('release', release),
    admitTimeoutMs: checkDelay('admitTimeoutMs', admitTimeoutMs),
    backoff: checkBackoff(backoff),
    maxPauseMs: checkDelay('maxPauseMs', maxPauseMs),
    seeds: {
      maxPendingSeeds: checkInteger('maxPendingSeeds', maxPendingSeeds, 1, MAX_SEEDS),
      maxQueuedSeeds: checkInteger('maxQueuedSeeds', maxQueuedSeeds, 0, MAX_SEEDS),
      seedDeadlineMs: checkDelay('seedDeadlineMs', seedDeadlineMs),
      seedLeaseMs: checkDelay('seedLeaseMs', seedLeaseMs),
    },
    prefillWorkers: Array.from(prefillWorkers, (name, i) => checkName(`prefillWorkers[${i}]`, name)),
    random: new Random(checkInteger('seed', seed, 0, 0xffff_ffff)),
    clock: checkClock(clock),
  };
}

/** Throws ERR_KVIDX_INVALID_ARG_TYPE. */
export function checkSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw invalidArgType('signal', 'an AbortSignal', signal);
  return signal;
}

function checkBackoff(options: BackoffOptions | undefined): Required<BackoffOptions> {
  const {
    baseMs = 50,
    factor = 2,
    maxMs = 2000,
    jitter = 0.5,
  } = checkOptions(options, 'backoff') as BackoffOptions;
  return {
    baseMs: checkDelay('backoff.baseMs', baseMs),
    factor: checkNumber('backoff.factor', factor, 1, Number.MAX_VALUE),
    maxMs: checkDelay('backoff.maxMs', maxMs),
    jitter: checkNumber('backoff.jitter', jitter, 0, 1),
  };
}

function checkNumber(what: string, value: unknown, lo: number, hi: number): number {
  if (typeof value !== 'number') throw invalidArgType(what, 'a number', value);
  if (!(value >= lo && value <= hi)) throw outOfRange(what, `from ${lo} to ${hi}`, value);
  return value;
}

function checkClock(clock: Clock): Clock {
  if (typeof clock?.now !== 'function' || typeof clock.after !== 'function')
    throw invalidArgType('clock', 'an object with now and after', clock);
  return neverAtOnce(clock);
}
