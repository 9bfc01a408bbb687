import type { Namespace } from '../../hash/namespace.js';
import type { Tier } from '../../kv-index/workers.js';
import type { DegradedReason } from '../stream/types.js';
import type { BadEvent } from '../types.js';

export interface EventFeedOptions {
  /** Of every block, beside its LoRA and salt (those of the events). Default: the namespace of the index. */
  readonly namespace?: Namespace;
  /** Tiers of media beyond those that are known (`MEDIUM_TIERS`), or in place of them. */
  readonly mediums?: Readonly<Record<string, Tier>>;
  /** Names of LoRA adapters by number, for engines that tell only the number. Default: the number in digits. */
  readonly loraNames?: Readonly<Record<number, string>>;
  /**
   * The engine may hold two copies of one block and tells of each: count them. Default false: a block stored again is the
   * same one, as engines announce blocks more than once.
   */
  readonly referenceCounts?: boolean;
  /** Data-parallel ranks of one worker, 1 … 65,536; events of more are refused. Default 64. */
  readonly maxRanks?: number;
  /** Told of messages of a stream that could not be applied, or not whole. */
  readonly onError?: (error: Error, worker: string, dpRank: number) => void;
}

export interface ApplyOptions {
  /** Rank of events that do not tell theirs: 0 … 65,535. Default 0. */
  readonly dpRank?: number;
  /** Present time in ms, for ages. Default `Date.now()`. */
  readonly nowMs?: number;
}

/** What applying did, in blocks; or has done so far. */
export interface AppliedBlocks {
  /** Newly resident in their tier. */
  readonly stored: number;
  /** Told again. */
  readonly duplicate: number;
  /** Of `stored`, those without a resident path to the root: no query reaches them, until they are told again behind it. */
  readonly orphaned: number;
  /** Stores that contradict what is known, or found no room within `maxBlocks`. */
  readonly rejected: number;
  /** Pushed out by these blocks, over `maxBlocks`. */
  readonly evicted: number;
  /** Stored by hash alone, under a hash that is not known: left out. */
  readonly unresolved: number;
  readonly removed: number;
  /** Removed under a hash that is not known in that tier. */
  readonly unknown: number;
  /** Went with a clear. */
  readonly cleared: number;
}

/** What applying did, in events; or has done so far. */
export interface AppliedCounts extends AppliedBlocks {
  /** All that were sent. */
  readonly events: number;
  /** Of groups of layers other than the main attention, or of smaller attention windows: left out. */
  readonly otherGroups: number;
  /** Of a medium that no tier is known for: left out. */
  readonly unknownMediums: number;
  /** Stores of another block size than the index has: left out. */
  readonly otherBlockSizes: number;
  /** Blocks, of TensorRT-LLM's JSON, that are not full: left out. */
  readonly partialBlocks: number;
  /** Of a tag that is not known. */
  readonly unknownTags: number;
}

export interface AppliedEvents extends AppliedCounts {
  /** When the engine made the batch, in ms of its clock; undefined: not told. */
  readonly timestampMs: number | undefined;
  /** Events that were wrong; the others are applied. */
  readonly bad: readonly BadEvent[];
}

/** One rank of a worker. */
export interface FollowedRankStats extends AppliedCounts {
  readonly worker: string;
  readonly dpRank: number;
  /** Tiers that events told of. */
  readonly residentBlocks: Readonly<Partial<Record<Tier, number>>>;
  readonly messages: number;
  /** Events that were wrong. */
  readonly badEvents: number;
  /** Hashes of the engine that are known, and the memory they take. */
  readonly names: number;
  readonly usedBytes: number;
  /** When the last message was applied; undefined: none was. */
  readonly lastEventMs: number | undefined;
  /**
   * What the last one that was not replayed was later than the engine's own time of it, in ms: transport, and the difference of
   * the clocks.
   */
  readonly lagMs: number | undefined;
  /** Undefined: the index has what the engine holds, or the events come without numbers. */
  readonly degraded: DegradedReason | undefined;
  /** Tokens a block that the engine stores, where the index has another size and refuses them. */
  readonly refusedBlockSize: number | undefined;
  /** Media that no tier is known for, the first ones that came. */
  readonly refusedMediums: readonly string[];
}
