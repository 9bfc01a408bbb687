import { type CoreIndexOptions, SLOT_MODE } from '../native/seam.js';
import { AgeOrder } from './age-order.js';
import { EvictionHistory } from './eviction-history.js';
import { NumberPool } from './number-pool.js';

/**
 * What an index is, exactly: which slot holds which blocks, which session owns which, and the predecessor of every
 * known block; beside it the copies, pins and stamps where those are on. The counts in `Block` repeat what the sets say,
 * so that no question about one block asks every set.
 */

/** The block before a block: a hash, `undefined` = the root, `null` = unknown. */
export type Predecessor = bigint | null | undefined;

/** A known block: held by some slot or owned by some session. */
export interface Block {
  predecessor: Predecessor;
  /** Slots that hold it. */
  holders: number;
  /** Sessions that own it. */
  owners: number;
}

/** When a block was last named on a slot. */
export interface Stamp {
  readonly stamp: number;
  /** `nowMs` of that call. */
  readonly ms: number;
}

export interface Slot {
  /** A SLOT_MODE. */
  mode: number;
  /** 0 unless bounded. */
  capacity: number;
  /** 0: none. */
  ttlMs: number;
  /** `nowMs` of the last accepted store or full report; −1: none. */
  lastStoreMs: number;
  /** `maxBlocks` took blocks from this slot, or refused it some, though it is not bounded itself. */
  degraded: boolean;
  evictedByCapacity: number;
  evictedByBound: number;
  expired: number;
  readonly blocks: Set<bigint>;
  /** On a bounded slot the stamp of each block, else empty. */
  readonly stamps: AgeOrder<bigint, Stamp>;
  /** On a slot that counts references: copies beyond the first, where there are any. */
  readonly copies: Map<bigint, number>;
  /** Pins of blocks that have some. */
  readonly pins: Map<bigint, number>;
}

export interface Session {
  lastOwnMs: number;
  readonly blocks: Set<bigint>;
}

export interface IndexState {
  readonly options: CoreIndexOptions;
  readonly blocks: Map<bigint, Block>;
  /** With `maxBlocks` the last stamp of each known block, else empty. */
  readonly known: AgeOrder<bigint, number>;
  /** By slot number; the last one is live. */
  readonly slots: (Slot | undefined)[];
  /** By slot number, of every number ever used: the incarnation of its present or last life. */
  readonly incarnations: number[];
  /** By session number, least recently owning first. */
  readonly sessions: Map<number, Session>;
  readonly history: EvictionHistory;
  /** Every number ever used is a live session's or waits here. */
  sessionNumbers: NumberPool;
  /** Above every stamp given so far. */
  nextStamp: number;
  duplicates: number;
  unknownRemoves: number;
  rejected: number;
  evictedByCapacity: number;
  evictedByBound: number;
  expired: number;
}

export function emptyState(options: CoreIndexOptions): IndexState {
  return {
    options,
    blocks: new Map(),
    known: new AgeOrder(),
    slots: [],
    incarnations: [],
    sessions: new Map(),
    history: new EvictionHistory(options.evictedHistory),
    sessionNumbers: new NumberPool(),
    nextStamp: 0,
    duplicates: 0,
    unknownRemoves: 0,
    rejected: 0,
    evictedByCapacity: 0,
    evictedByBound: 0,
    expired: 0,
  };
}

export function emptySlot(): Slot {
  return {
    mode: SLOT_MODE.plain,
    capacity: 0,
    ttlMs: 0,
    lastStoreMs: -1,
    degraded: false,
    evictedByCapacity: 0,
    evictedByBound: 0,
    expired: 0,
    blocks: new Set(),
    stamps: new AgeOrder(),
    copies: new Map(),
    pins: new Map(),
  };
}
