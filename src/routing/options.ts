import { invalidArgType, outOfRange } from '../errors.js';
import { DEFAULT_BLOCK_SIZE } from '../hash/block-hasher.js';
import type { Namespace } from '../hash/namespace.js';
import type { KvIndexOptions } from '../kv-index/index.js';
import { checkBoolean, checkChoice, checkInteger, checkName, checkOptions, checkTime } from '../validate.js';
import type { Policy } from './policy/policy.js';
import { createPolicy } from './policy/spec.js';
import { checkOwnName } from './residency.js';
import type { SketchSettings } from './sketch-reader.js';
import type { StateSettings } from './state/router-state.js';
import type {
  AdmittedAs,
  DispatchedOptions,
  RerouteOptions,
  Residency,
  RouterOptions,
  RouterSketchOptions,
  RouterWorkerOptions,
  SessionSketchTold,
} from './types.js';

export const DEFAULT_POLICY = 'kv-aware:overlap=fair:k=200:by=work';

const ADMITTED: readonly AdmittedAs[] = ['direct', 'seed', 'reseed', 'fallback'];
const RESIDENCIES: readonly Residency[] = ['estimate', 'exact', 'sketch', 'larger'];
/** Tables of that many entries are laid out at once. */
const MAX_ENTRIES = 2 ** 26;
const MAX_BLOCKS = 0xffff_ffff;
const HOUR_MS = 3_600_000;

export interface RouterSettings {
  readonly policy: Policy;
  readonly residency: Residency;
  readonly sketches: SketchSettings | undefined;
  readonly recordAt: 'finish' | 'route';
  readonly partialLastBlock: boolean;
  readonly namespace: Namespace;
  readonly migration: { readonly hotTokens: number; readonly cooldownMs: number } | undefined;
  readonly now: () => number;
  readonly state: StateSettings;
  readonly index: KvIndexOptions & { readonly blockSize: number };
}

export function checkRouterOptions(options: RouterOptions | undefined): RouterSettings {
  const {
    policy = DEFAULT_POLICY,
    blockSize = DEFAULT_BLOCK_SIZE,
    namespace = {},
    residency = 'estimate',
    sketches,
    recordAt = 'finish',
    maxSessions = 65_536,
    sessionIdleMs = HOUR_MS,
    maxBlocks = 4_000_000,
    maxRequests = 65_536,
    requestIdleMs = HOUR_MS,
    rejectTtlMs = 60_000,
    workHalfLifeMs = 600_000,
    migration,
    partialLastBlock = false,
    index,
    now = steadyNow,
  } = checkOptions(options);
  checkBoolean('partialLastBlock', partialLastBlock);
  if (typeof now !== 'function') throw invalidArgType('now', 'a function', now);
  const { evictedHistory = 0 } = checkOptions(index, 'index');
  return {
    policy: isPolicy(policy) ? checkPolicy(policy) : createPolicy(policy),
    residency: checkResidency(residency, sketches),
    sketches: sketches === undefined ? undefined : checkSketches(sketches, blockSize),
    recordAt: checkChoice('recordAt', recordAt, ['finish', 'route']),
    partialLastBlock,
    namespace,
    migration: migration === undefined ? undefined : checkMigration(migration),
    now,
    state: {
      maxSessions: checkInteger('maxSessions', maxSessions, 1, MAX_ENTRIES),
      sessionIdleMs: checkTime('sessionIdleMs', sessionIdleMs),
      maxRequests: checkInteger('maxRequests', maxRequests, 1, MAX_ENTRIES),
      requestIdleMs: checkTime('requestIdleMs', requestIdleMs),
      rejectTtlMs: checkTime('rejectTtlMs', rejectTtlMs),
      workHalfLifeMs: checkHalfLife(workHalfLifeMs),
    },
    index: { blockSize, namespace, maxSessions, sessionIdleMs, maxBlocks, evictedHistory },
  };
}

/** In ms since 1970, never going back. */
const steadyNow = (): number => performance.timeOrigin + performance.now();

export interface CheckedWorkerOptions {
  readonly residency: Residency | undefined;
  readonly capacity: number | undefined;
  readonly ttlMs: number | undefined;
  readonly poolTokens: number | undefined;
}

export function checkRouterWorkerOptions(
  options: RouterWorkerOptions | undefined,
  sketches: object | undefined,
): CheckedWorkerOptions {
  const { residency, capacity, ttlMs, poolTokens } = checkOptions(options);
  if (residency !== undefined) checkResidency(residency, sketches);
  if (capacity !== undefined) checkInteger('capacity', capacity, 1, MAX_BLOCKS);
  if (ttlMs !== undefined) checkTime('ttlMs', ttlMs);
  if (poolTokens !== undefined) checkInteger('poolTokens', poolTokens, 1, Number.MAX_SAFE_INTEGER);
  return { residency, capacity, ttlMs, poolTokens };
}

export const checkWorker = (name: unknown): string => checkOwnName(checkName('worker name', name));

function isPolicy(policy: unknown): policy is Policy {
  return typeof (policy as Partial<Policy> | null)?.decide === 'function';
}

/** One that `createPolicy` did not make has to be whole. */
function checkPolicy(policy: Policy): Policy {
  const { spec, counts, explain } = policy;
  if (typeof spec !== 'string') throw invalidArgType('policy.spec', 'a string', spec);
  if (typeof explain !== 'function') throw invalidArgType('policy.explain', 'a function', explain);
  if (typeof counts !== 'object' || counts === null)
    throw invalidArgType('policy.counts', 'an object', counts);
  checkChoice('policy.counts.overlap', counts.overlap, ['prefix', 'set', 'exclusive', 'fair']);
  checkInteger('policy.counts.maxOwners', counts.maxOwners, 1, MAX_BLOCKS);
  return policy;
}

/** `without` of `reroute`. */
export function checkWithout(options: RerouteOptions | undefined): ReadonlySet<string> {
  const { without = [] } = checkOptions(options);
  if (typeof without === 'string' || typeof Object(without)[Symbol.iterator] !== 'function')
    throw invalidArgType('without', 'an iterable of names', without);
  return new Set(without);
}

/** `admitted` of `onDispatch`. */
export function checkAdmitted(options: DispatchedOptions | undefined): AdmittedAs | undefined {
  const { admitted } = checkOptions(options);
  return admitted === undefined ? undefined : checkChoice('admitted', admitted, ADMITTED);
}

/** `residentTokens` of `onSessionSketch`. */
export function checkResidentTokens(options: SessionSketchTold | undefined): number {
  const { residentTokens = 0 } = checkOptions(options);
  return checkInteger('residentTokens', residentTokens, 0, Number.MAX_SAFE_INTEGER);
}

function checkResidency(residency: unknown, sketches: object | undefined): Residency {
  const checked = checkChoice('residency', residency, RESIDENCIES);
  if (checked === 'sketch' && sketches === undefined)
    throw outOfRange(
      'residency',
      'given with the option sketches of the router, { source: a SketchSubscriber },',
      residency,
    );
  return checked;
}

function checkSketches(sketches: RouterSketchOptions, blockSize: number): SketchSettings {
  const {
    source,
    maxStalenessMs = 10_000,
    whenStale = 'discount',
  } = checkOptions(sketches, 'sketches') as RouterSketchOptions;
  if (typeof source?.follow !== 'function')
    throw invalidArgType('sketches.source', 'a SketchSubscriber', source);
  if (source.blockSize !== blockSize)
    throw outOfRange('sketches.source.blockSize', `${blockSize}, as the router has it`, source.blockSize);
  return {
    source,
    maxStalenessMs: checkTime('sketches.maxStalenessMs', maxStalenessMs),
    whenStale: checkChoice('sketches.whenStale', whenStale, ['discount', 'ignore']),
  };
}

function checkMigration(migration: NonNullable<RouterOptions['migration']>) {
  const { hotTokens, cooldownMs = 60_000 } = checkOptions(migration, 'migration');
  return {
    hotTokens: checkInteger('migration.hotTokens', hotTokens, 0, Number.MAX_SAFE_INTEGER),
    cooldownMs: checkTime('migration.cooldownMs', cooldownMs),
  };
}

function checkHalfLife(value: unknown): number {
  if (typeof value !== 'number') throw invalidArgType('workHalfLifeMs', 'a number of milliseconds', value);
  if (!(value > 0)) throw outOfRange('workHalfLifeMs', 'above 0 (Infinity: work never decays)', value);
  return value;
}
