import { invalidArgType, outOfRange } from '../errors.js';
import { DEFAULT_BLOCK_SIZE, MAX_BLOCK_SIZE } from '../hash/block-hasher.js';
import { namespaceRoot } from '../hash/namespace.js';
import { MODE } from '../native/seam.js';
import { checkHash, checkInteger, checkOptions, checkTime } from '../validate.js';
import type { KvIndexOptions, StoreOptions } from './types.js';

export const MAX_U32 = 0xffff_ffff;
const DEFAULT_MAX_SESSIONS = 65_536;
const DEFAULT_SESSION_IDLE_MS = 3_600_000;

/** What an index is made with, for its whole life. */
export interface IndexSettings {
  readonly blockSize: number;
  /** Root of the default namespace. */
  readonly root: bigint;
  readonly maxSessions: number;
  readonly sessionIdleMs: number;
}

export function checkIndexOptions(options: KvIndexOptions | undefined): IndexSettings {
  const {
    blockSize = DEFAULT_BLOCK_SIZE,
    namespace,
    maxSessions = DEFAULT_MAX_SESSIONS,
    sessionIdleMs = DEFAULT_SESSION_IDLE_MS,
  } = checkOptions(options);
  return {
    blockSize: checkInteger('blockSize', blockSize, 1, MAX_BLOCK_SIZE),
    root: namespaceRoot(namespace ?? {}),
    maxSessions: checkInteger('maxSessions', maxSessions, 1, MAX_U32),
    sessionIdleMs: checkTime('sessionIdleMs', sessionIdleMs),
  };
}

/** The seam's mode. */
export function checkMode(mode: unknown): number {
  if (mode === 'prefix' || mode === 'set') return MODE[mode];
  if (typeof mode !== 'string') throw invalidArgType('mode', 'a string', mode);
  throw outOfRange('mode', '"prefix" or "set"', mode);
}

/** The seam's parent: undefined (the root), null (unknown) or a hash. */
export function checkParent(parent: StoreOptions['parent']): bigint | null | undefined {
  if (parent === undefined) return undefined;
  if (parent === 'unknown') return null;
  return checkHash(parent, 'parent');
}
