import { NumberPool } from './number-pool.js';

/**
 * What an index is, exactly: which slot holds which blocks, which session owns which, and the predecessor of every
 * known block. The counts in `Block` repeat what the sets say, so that no question about one block asks every set.
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

export interface Slot {
  /** `nowMs` of the last accepted store; −1: none. */
  lastStoreMs: number;
  readonly blocks: Set<bigint>;
}

export interface Session {
  lastOwnMs: number;
  readonly blocks: Set<bigint>;
}

export interface IndexState {
  readonly blocks: Map<bigint, Block>;
  /** By slot number; the last one is live. */
  readonly slots: (Slot | undefined)[];
  /** By slot number, of every number ever used: the incarnation of its present or last life. */
  readonly incarnations: number[];
  /** By session number, least recently owning first. */
  readonly sessions: Map<number, Session>;
  /** Every number ever used is a live session's or waits here. */
  sessionNumbers: NumberPool;
  duplicates: number;
  unknownRemoves: number;
  rejected: number;
}

export function emptyState(): IndexState {
  return {
    blocks: new Map(),
    slots: [],
    incarnations: [],
    sessions: new Map(),
    sessionNumbers: new NumberPool(),
    duplicates: 0,
    unknownRemoves: 0,
    rejected: 0,
  };
}
