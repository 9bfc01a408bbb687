import type { ExtraKeys } from '../hash/extra-keys.js';
import type { Namespace } from '../hash/namespace.js';
import type { KvIndexOptions } from '../kv-index/index.js';
import type { Degraded, SketchSource } from '../sketch/types.js';
import type { Counts, Policy, RankedKey } from './policy/policy.js';
import type { PolicySpec } from './policy/spec.js';

/**
 * How a router knows what a worker holds. `estimate`: from the requests it sent there, an LRU of the worker's `capacity`.
 * `exact`: from what is stored for workers of that name in `router.index`, by whoever follows the engine. `sketch`: from the
 * Bloom sketches that the worker publishes (`sketches`). `larger`: all of these that there are, and of each worker the
 * largest overlap.
 */
export type Residency = 'estimate' | 'exact' | 'sketch' | 'larger';

/** `up`: takes requests. `draining`: takes none, those under way end in peace. `down`: failed, takes none. */
export type WorkerStatus = 'up' | 'draining' | 'down';

export interface RouterOptions {
  /** What `createPolicy` takes (default `kv-aware:overlap=fair:k=200:by=work`) or made, or a policy of your own. */
  readonly policy?: string | PolicySpec | Policy;
  /** Tokens a block, 1 … 4,096. Default 24. */
  readonly blockSize?: number;
  /** Default namespace of prompts. */
  readonly namespace?: Namespace;
  /** Default of workers. Default `estimate`. */
  readonly residency?: Residency;
  /** Where sketches come from; needed for residency `sketch`. */
  readonly sketches?: RouterSketchOptions;
  /**
   * When a prompt counts on its worker, where that is estimated (with sketches: from when it is routed until it is prefilled,
   * or not at all): when its request ended well (`finish`, the default), or
   * already when it is routed (`route`), so that siblings of one burst meet where the first of them went. What a worker
   * refused, or never prefilled, counts no longer then.
   */
  readonly recordAt?: 'finish' | 'route';
  /**
   * Named sessions that are remembered, and sessions, named or not, that own blocks: beyond it the least recently routed,
   * or owning, one ends. Default 65,536.
   */
  readonly maxSessions?: number;
  /** `expire` ends sessions that were not routed for so long, in ms. Default 3,600,000. */
  readonly sessionIdleMs?: number;
  /** Blocks that `index` knows at once. Default 4,000,000: some 100 MB. */
  readonly maxBlocks?: number;
  /** Requests under way; beyond it the one longest untouched is given up. Default 65,536. */
  readonly maxRequests?: number;
  /** `expire` gives up requests whose last hook is this old, in ms. Default 3,600,000. */
  readonly requestIdleMs?: number;
  /** A refusal of a session on a worker is forgotten after so long, in ms. Default 60,000. */
  readonly rejectTtlMs?: number;
  /** Assigned work counts half after so long, in ms; Infinity: it never decays. Default 600,000. */
  readonly workHalfLifeMs?: number;
  /** Moves sessions away from a hot home. Default: sessions are not moved. */
  readonly migration?: MigrationOptions;
  /**
   * The last hash of `seqHashes` may stand for a partial block, as in traces with the ceil convention: `inputLength` may
   * then fall short of it by less than a block. Default false.
   */
  readonly partialLastBlock?: boolean;
  /** Further options of `index`. */
  readonly index?: Pick<KvIndexOptions, 'evictedHistory'>;
  /**
   * The present, in ms. While it goes back, time stands still. Default: the time of day at the start of the process, and what
   * went by since, which never goes back.
   */
  readonly now?: () => number;
}

export interface RouterSketchOptions {
  /** A `SketchSubscriber`: it follows the workers from when they join, until they leave or the router is closed. */
  readonly source: SketchSource;
  /** A sketch that is older, in ms, is stale. Default 10,000: ten times the pause between a publisher's frames. */
  readonly maxStalenessMs?: number;
  /**
   * What becomes of a stale sketch: it counts for a share `maxStalenessMs` / age of its blocks (`discount`, the default), or
   * for nothing (`ignore`).
   */
  readonly whenStale?: 'discount' | 'ignore';
}

/** What the router thinks of a worker's sketch. */
export interface SketchNote {
  /** Undefined: none has come yet. */
  readonly ageMs: number | undefined;
  readonly degraded: Degraded | undefined;
  /** The share of its blocks that counts: 1 while it is not stale. */
  readonly trust: number;
}

export interface MigrationOptions {
  /** Pending prefill tokens of a home above which its sessions move. */
  readonly hotTokens: number;
  /** A session that moved stays at least so long, in ms. Default 60,000. */
  readonly cooldownMs?: number;
}

export interface RouterWorkerOptions {
  readonly residency?: Residency;
  /** Blocks of the estimate: those of the engine's KV cache. Default: 415,000 tokens. */
  readonly capacity?: number;
  /** The estimate drops what it did not see for so long, in ms (at `expire`). Default: never. */
  readonly ttlMs?: number;
  /** Tokens of the engine's KV cache: migration moves no session where it does not fit. Default: anything fits. */
  readonly poolTokens?: number;
}

export interface RouteRequest {
  /** Name of the conversation. Without one the request is a session of its own. */
  readonly session?: string;
  /** The prompt: `Uint32Array[n]`, or a plain array, copied. */
  readonly tokens?: Uint32Array | readonly number[];
  /** Or its seq hashes, `BigUint64Array[⌊n / blockSize⌋]`, as of a `SessionHasher`; copied. */
  readonly seqHashes?: BigUint64Array;
  /** Tokens of the prompt. Default: those of `tokens`, or of the blocks of `seqHashes`. */
  readonly inputLength?: number;
  /** Names the request for the hooks; must not be under way. Default: a new name. */
  readonly requestId?: string;
  /** With `tokens`. Default: the router's. */
  readonly namespace?: Namespace;
  /** With `tokens`. */
  readonly extraKeys?: ExtraKeys;
}

export interface Decision {
  readonly requestId: string;
  readonly worker: string;
  /** Leading blocks of the prompt that the worker holds, as far as is known. */
  readonly overlapBlocks: number;
  readonly cachedTokens: number;
  /** Tokens left to prefill. */
  readonly newTokens: number;
  /** No request of the session was dispatched yet, but for such as were refused. */
  readonly firstTurn: boolean;
  /** The session was moved away from its hot home. */
  readonly migrated: boolean;
}

export interface RerouteOptions {
  /** Names of workers that are left out. */
  readonly without?: Iterable<string>;
}

/** What a worker answered when it took a request; `fallback`: it was not asked. */
export type AdmittedAs = 'direct' | 'seed' | 'reseed' | 'fallback';

export interface DispatchedOptions {
  /** With an admission protocol: how the worker took it. Anything but `fallback` clears the session's refusals there. */
  readonly admitted?: AdmittedAs;
}

export interface SessionSketchTold {
  /** Leading tokens of the prompt that the worker says it holds, whoever owns them. Default 0. */
  readonly residentTokens?: number | undefined;
}

/**
 * What the policy saw of a worker. Its load includes requests that were routed there and are not dispatched yet, so that a
 * burst spreads; with `recordAt: 'route'` not their work, so that siblings meet.
 */
export interface CandidateExplanation {
  readonly worker: string;
  readonly overlapBlocks: number;
  readonly cachedTokens: number;
  /** What the policy counts: blocks (fair overlap too, in fractions). */
  readonly counted: number;
  readonly sticky: boolean;
  readonly inflight: number;
  readonly assigned: number;
  readonly work: number;
  readonly rejects: number;
  readonly pendingPrefillTokens: number;
  readonly numRequests: number;
  readonly ongoingDecodeTokens: number;
  /** Where a sketch tells what it holds. */
  readonly sketch?: SketchNote;
  /** The policy's score, most important part first. */
  readonly keys: readonly RankedKey[];
  /** Why it does not get the request; undefined for the winner. */
  readonly lost: string | undefined;
}

export interface RouteExplanation {
  readonly worker: string;
  readonly policy: string;
  readonly counts: Counts;
  /** The decision in a sentence. */
  readonly message: string;
  /** In order of joining. */
  readonly candidates: readonly CandidateExplanation[];
  /** Workers that take no requests, and why. */
  readonly left: readonly { readonly worker: string; readonly status: WorkerStatus }[];
}

export interface RouterWorkerStats {
  readonly worker: string;
  readonly status: WorkerStatus;
  readonly residency: Residency;
  /** Requests that were routed here and wait for `onDispatch`; the other figures do not count them. */
  readonly routed: number;
  readonly inflight: number;
  readonly assigned: number;
  readonly work: number;
  readonly pendingPrefillTokens: number;
  readonly numRequests: number;
  readonly ongoingDecodeTokens: number;
  /** Prompt tokens of the requests under way. */
  readonly runningTokens: number;
  /**
   * Blocks that it holds as far as the router knows: of its estimate, of all ranks and tiers that are stored for it, or of its
   * sketch; with `larger` the most of these. Undefined: the router is closed.
   */
  readonly residentBlocks: number | undefined;
  /** Where a sketch tells what it holds. */
  readonly sketch?: SketchNote;
}

/** Hooks that changed nothing. */
export interface IgnoredHooks {
  /** Of a request that never was, or has ended: a second `onFinish` too. */
  readonly unknown: number;
  /** Told before. */
  readonly repeated: number;
  /** Too early: `onFirstToken` or `onFinish` of a request that was not dispatched. */
  readonly outOfOrder: number;
}

export interface RouterStats {
  /** In order of joining. */
  readonly workers: readonly RouterWorkerStats[];
  /** Named sessions that are remembered. */
  readonly sessions: number;
  /** Requests routed and not ended. */
  readonly requests: number;
  readonly routed: number;
  readonly dispatched: number;
  readonly finished: number;
  readonly errors: number;
  readonly rejects: number;
  /** Given up by `maxRequests` or `requestIdleMs`. */
  readonly givenUp: number;
  readonly migrations: number;
  readonly ignoredHooks: IgnoredHooks;
}
