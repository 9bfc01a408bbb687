import { invalidArgType, outOfRange } from '../errors.js';
import { DEFAULT_BLOCK_SIZE, MAX_BLOCK_SIZE } from '../hash/block-hasher.js';
import { type Namespace, namespaceRoot } from '../hash/namespace.js';
import { seam } from '../native/index.js';
import { type CoreIndex, MODE } from '../native/seam.js';
import { checkHash, checkInteger, checkOptions, checkTime } from '../validate.js';
import type { FeedOptions, KvIndexOptions, Parent, StoreOptions, StrictOptions } from './types.js';

/*
 * Options, read and checked. Reading may run any code (getters), so it comes before a call looks at the state.
 */

export const MAX_U32 = 0xffff_ffff;
const MAX_EVICTED_HISTORY = 1_000_000;
const DEFAULT_MAX_SESSIONS = 65_536;
const DEFAULT_SESSION_IDLE_MS = 3_600_000;

/** What an index is made with, for its whole life. */
export interface IndexSettings {
  readonly blockSize: number;
  /** The default one. */
  readonly namespace: Namespace;
  /** Root of the default namespace. */
  readonly root: bigint;
  readonly maxSessions: number;
  readonly sessionIdleMs: number;
  /** 0: no bound. */
  readonly maxBlocks: number;
  readonly evictedHistory: number;
}

export function checkIndexOptions(options: KvIndexOptions | undefined): IndexSettings {
  const {
    blockSize = DEFAULT_BLOCK_SIZE,
    namespace,
    maxSessions = DEFAULT_MAX_SESSIONS,
    sessionIdleMs = DEFAULT_SESSION_IDLE_MS,
    maxBlocks,
    evictedHistory = 0,
  } = checkOptions(options);
  return {
    blockSize: checkInteger('blockSize', blockSize, 1, MAX_BLOCK_SIZE),
    root: namespaceRoot(namespace ?? {}),
    namespace: { ...namespace },
    maxSessions: checkInteger('maxSessions', maxSessions, 1, MAX_U32),
    sessionIdleMs: checkTime('sessionIdleMs', sessionIdleMs),
    maxBlocks: maxBlocks === undefined ? 0 : checkInteger('maxBlocks', maxBlocks, 1, MAX_U32),
    evictedHistory: checkInteger('evictedHistory', evictedHistory, 0, MAX_EVICTED_HISTORY),
  };
}

export function createCore({ maxSessions, maxBlocks, evictedHistory }: IndexSettings): CoreIndex {
  return seam.createIndex({ maxSessions, maxBlocks, evictedHistory });
}

export function readStoreOptions(options: StoreOptions | undefined) {
  const { parent, nowMs = Date.now(), strict = false } = checkOptions(options);
  return { parent: checkParent(parent), nowMs: checkTime('nowMs', nowMs), strict };
}

export function readFeedOptions(options: FeedOptions | undefined) {
  const { nowMs = Date.now(), strict = false } = checkOptions(options);
  return { nowMs: checkTime('nowMs', nowMs), strict };
}

export function readStrict(options: StrictOptions | undefined): boolean {
  const { strict = false } = checkOptions(options);
  return strict;
}

/** The seam's mode. */
export function checkMode(mode: unknown): number {
  if (mode === 'prefix' || mode === 'set') return MODE[mode];
  if (typeof mode !== 'string') throw invalidArgType('mode', 'a string', mode);
  throw outOfRange('mode', '"prefix" or "set"', mode);
}

/** The seam's parent: undefined (the root), null (unknown) or a hash. */
export function checkParent(parent: Parent, what = 'parent'): bigint | null | undefined {
  if (parent === undefined) return undefined;
  if (parent === 'unknown') return null;
  return checkHash(parent, what);
}
