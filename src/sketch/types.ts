import type { BloomFilter } from './bloom-filter.js';
import type { SketchTransport } from './transport/transport.js';

/** What a frame says of itself, and a sketch of where it comes from. */
export interface SketchHead {
  readonly worker: string;
  /** Undefined: the sketch is of the whole worker. */
  readonly session: string | undefined;
  /** Life of the publisher's filter; a later one has a higher number. An integer, 0 … 2^53 − 1. */
  readonly epoch: number;
  /** Of the frame within the epoch, each the one before plus 1. An integer, 0 … 2^53 − 1. */
  readonly sequence: number;
  /** When the publisher read what is resident, by its clock, in ms since 1970. */
  readonly timestampMs: number;
  /** Resident blocks that are in the filter. */
  readonly keys: number;
  /** The rate of false positives that the filter was sized for, above 0, below 1. */
  readonly targetFpp: number;
  /** Tokens a block. */
  readonly blockSize: number;
}

/** A filter with its head. */
export interface Sketch extends SketchHead {
  readonly filter: BloomFilter;
}

/** Replaces whatever was there. */
export interface FullFrame extends SketchHead {
  readonly kind: 'full';
  readonly filter: BloomFilter;
}

/** Blocks of 256 bits that changed since the sequence number before: they are replaced, and may have lost bits. */
export interface DeltaFrame extends SketchHead {
  readonly kind: 'delta';
  /** Blocks of the whole filter. */
  readonly z: number;
  /** `Uint32Array[n]`, rising, each below z. */
  readonly indices: Uint32Array;
  /** `Uint32Array[8 n]`. */
  readonly blocks: Uint32Array;
}

/** Nothing is resident: the filter is empty from now on. */
export interface ClearFrame extends SketchHead {
  readonly kind: 'clear';
  /** Blocks of the filter that deltas to follow are of; 0: none will. */
  readonly z: number;
}

export type SketchFrame = FullFrame | DeltaFrame | ClearFrame;

// --------------------------------------------------------------------------------------------------------- publisher

/** What a worker holds, in any order; read anew for every frame. */
export interface ResidentBlocks {
  readonly blockSize: number;
  hashes(): BigUint64Array;
}

export interface SketchPublisherOptions {
  readonly transport: SketchTransport;
  /** Name of the worker, as routers know it. */
  readonly worker: string;
  /** `residentOf(index, handle)`, or your own. */
  readonly resident: ResidentBlocks;
  /** Target rate of false positives. Default 0.01. */
  readonly targetFpp?: number;
  /** Room for growth before the filter is built anew, as a share of the blocks. Default 0.1. */
  readonly headroom?: number;
  /** Of channels and keys. Default `kvidx-sketch:`. */
  readonly prefix?: string;
  /** Pause between frames after `start`, in ms. Default 1,000. */
  readonly everyMs?: number;
  /** A full frame goes out at least every so many frames. Default 60. */
  readonly fullEvery?: number;
  /** And at least every so many ms. Default 30,000. */
  readonly fullEveryMs?: number;
  /** Wishes for a full frame are granted at most every so many ms. Default 200. */
  readonly grantEveryMs?: number;
  /** How long the latest full frame stays in the store after it was written, in ms. Default 300,000. */
  readonly latestTtlMs?: number;
  /** Told of frames that could not be sent; the next one is a full one then. Default: they are counted only. */
  readonly onError?: (error: unknown) => void;
  /** ms since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

export interface PublishOptions {
  /** A full frame, also where a delta would do. */
  readonly full?: boolean;
}

export interface Published {
  readonly kind: SketchFrame['kind'];
  readonly epoch: number;
  readonly sequence: number;
  readonly keys: number;
  /** Blocks of 256 bits: of the whole filter, and those in this frame. */
  readonly z: number;
  readonly sentBlocks: number;
  /** Of the whole frame. */
  readonly bytes: number;
}

export interface PublisherStats {
  readonly epoch: number;
  readonly sequence: number;
  readonly keys: number;
  readonly full: number;
  readonly delta: number;
  readonly clear: number;
  readonly bytes: number;
  /** Frames that could not be sent, or whose latest full frame could not be written. */
  readonly failed: number;
  /** Wishes for a full frame that came in. */
  readonly wanted: number;
}

// -------------------------------------------------------------------------------------------------------- subscriber

export interface SketchSubscriberOptions {
  readonly transport: SketchTransport;
  /** Tokens a block; frames of another size are refused. Default 24. */
  readonly blockSize?: number;
  /** Default `kvidx-sketch:`. */
  readonly prefix?: string;
  /** Workers followed at once. Default 1,024. */
  readonly maxWorkers?: number;
  /** Bytes of all filters together, and as many again of frames that wait while workers are joined. Default 256 MiB. */
  readonly maxBytes?: number;
  /**
   * While a sketch is degraded, a full frame is asked for every so many ms: at once when something is missing, after the
   * first pause when it is only unconfirmed, and not where it would find no room. Default 1,000.
   */
  readonly wantEveryMs?: number;
  /**
   * A sketch of which no frame was applied for so long yields to a full frame of a lower epoch: a publisher whose clock went
   * back, and whose store lost its latest frame, would otherwise never be heard again. In ms. Default 60,000.
   */
  readonly yieldAfterMs?: number;
  /**
   * Told of frames that were refused (ERR_KVIDX_BAD_FRAME, ERR_KVIDX_CAPACITY) and of what the transport failed with, once
   * until a frame is applied or the connection is there again. Default: they are counted only.
   */
  readonly onError?: (error: unknown, worker: string) => void;
  /** ms since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

/** Why a sketch may be wrong. */
export type Degraded =
  /** No frame has come yet. */
  | 'empty'
  /** Frames were lost, or came before a full one. */
  | 'gap'
  /** A frame was damaged, or of another scheme or worker. */
  | 'bad-frame'
  /** Frames are of another block size; no full one is asked for, which would be, too. */
  | 'block-size'
  /** Frames of a lower epoch come: from a former publisher, or from one that is told by the wish to begin a higher one. */
  | 'lower-epoch'
  /** The filter would be larger than `maxBytes` allows. */
  | 'capacity'
  /** The store answers errors, or its connection is broken: frames may get lost. */
  | 'transport'
  /**
   * It was read from the store, or kept through an interruption, and no live frame has shown yet that nothing was missed.
   */
  | 'unconfirmed';

/** The sketch of one worker, as far as it is known here. Asking never waits for the store. */
export interface FollowedSketch {
  readonly worker: string;
  /** Undefined until a first full or clear frame came. Its filter changes with later frames. */
  readonly sketch: Sketch | undefined;
  /** Undefined: it is all that the publisher said, as far as frames that came live can show. */
  readonly degraded: Degraded | undefined;
  /** Leading blocks of `BigUint64Array[n]` that test positive; 0 without a sketch. */
  leadingBlocks(seqHashes: BigUint64Array): number;
  /** Blocks that test positive, anywhere. */
  countBlocks(seqHashes: BigUint64Array): number;
  /**
   * How old the content is, in ms: what the two clocks said when the last frame was applied (0 if the publisher's is
   * ahead), and the time since. Undefined without a sketch.
   */
  ageMs(): number | undefined;
  /** Ends this following; the worker is forgotten with the last one. */
  close(): void;
}

/** Where a router gets sketches; `SketchSubscriber` is one. What it answers must not throw: decisions are made with it. */
export interface SketchSource {
  /** Tokens a block of the sketches. */
  readonly blockSize: number;
  /** Starts at once and in the background. ERR_KVIDX_CAPACITY, ERR_KVIDX_CLOSED. */
  follow(worker: string): FollowedSketch;
}

export interface SubscriberStats {
  readonly workers: number;
  readonly degraded: number;
  /** Of all filters. */
  readonly bytes: number;
  readonly full: number;
  readonly delta: number;
  readonly clear: number;
  /** Frames of the past: duplicates, or of a lower epoch. */
  readonly old: number;
  readonly gaps: number;
  readonly badFrames: number;
  /** Full frames asked for. */
  readonly wanted: number;
  readonly transportErrors: number;
}
