import { invalidArgType } from '../errors.js';
import { type ExtraKeys, flattenExtraKeys } from '../hash/extra-keys.js';
import { type Namespace, namespaceRoot } from '../hash/namespace.js';
import { seam } from '../native/index.js';
import type { CoreIndex, FlatExtraKeys } from '../native/seam.js';
import { counted } from '../text.js';
import { checkHashes, checkTokens } from '../validate.js';
import type { EngineFeeds } from './engine-feeds.js';
import { explainWorkers, type WorkerExplanation, type WorkerReason } from './explain-workers.js';
import type { NamespaceLog } from './namespace-log.js';
import type { IndexSettings } from './options.js';
import type { WorkerHandle } from './workers.js';

/** Block sizes that engines and routers use, tried when a prompt's first block is unknown. */
const COMMON_BLOCK_SIZES = [1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024];

/** Workers that a message names; it counts the rest. */
const NAMED_WORKERS = 3;

/** A prompt, or its seq hashes (`BigUint64Array[n]`). */
export type ExplainQuery =
  | {
      readonly tokens: Uint32Array | readonly number[];
      /** Default: the namespace of the index. */
      readonly namespace?: Namespace;
      readonly extraKeys?: ExtraKeys;
    }
  | { readonly seqHashes: BigUint64Array };

export interface ExplainOptions {
  /** The present, in ms, against which ages are told. Default `Date.now()`. */
  readonly nowMs?: number;
}

/** Why a query finds what it finds. */
export type ExplainReason =
  | 'hit'
  | 'no-workers'
  | 'prompt-shorter-than-one-block'
  | 'no-stores-yet'
  | 'evicted'
  | 'head-missing'
  | 'block-size-mismatch'
  | 'namespace-differs'
  | 'extra-keys-differ'
  | 'nothing-resident'
  | 'first-block-not-resident'
  | 'first-block-unknown';

export interface Explanation {
  readonly reason: ExplainReason;
  /** The reason in a sentence, with what to look at. */
  readonly message: string;
  /** Full blocks of the query. */
  readonly blocks: number;
  /** By slot, ascending. */
  readonly workers: readonly WorkerExplanation[];
}

export interface ExplainContext {
  readonly core: CoreIndex;
  readonly workers: readonly WorkerHandle[];
  readonly settings: IndexSettings;
  readonly namespaces: NamespaceLog;
  readonly feeds: EngineFeeds;
  readonly nowMs: number;
}

/** A query with its hashes; `prompt` is absent when only hashes were given. */
interface HashedQuery {
  readonly seqHashes: BigUint64Array;
  readonly prompt:
    | { readonly tokens: Uint32Array; readonly root: bigint; readonly extra: FlatExtraKeys | undefined }
    | undefined;
}

type Verdict = readonly [reason: ExplainReason, message: string];

export function explainQuery(context: ExplainContext, query: ExplainQuery): Explanation {
  const hashed = hashQuery(context, query);
  const workers = explainWorkers(context, hashed.seqHashes);
  const [reason, message] = verdict(context, hashed, workers);
  return {
    reason,
    message: [message, ...evictionsNote(context, reason), ...degradedNote(workers)].join(' '),
    blocks: hashed.seqHashes.length,
    workers,
  };
}

function hashQuery(context: ExplainContext, query: ExplainQuery): HashedQuery {
  if (typeof query !== 'object' || query === null) throw invalidArgType('query', 'an object', query);
  if ('seqHashes' in query)
    return { seqHashes: checkHashes(query.seqHashes, 'seqHashes'), prompt: undefined };
  const tokens = checkTokens(query.tokens);
  const { blockSize, root: defaultRoot } = context.settings;
  const root = query.namespace === undefined ? defaultRoot : namespaceRoot(query.namespace);
  const extra = flattenExtraKeys(query.extraKeys, 0, Math.floor(tokens.length / blockSize));
  return { seqHashes: hash(tokens, blockSize, root, extra), prompt: { tokens, root, extra } };
}

function hash(tokens: Uint32Array, blockSize: number, root: bigint, extra?: FlatExtraKeys): BigUint64Array {
  const out = new BigUint64Array(Math.floor(tokens.length / blockSize));
  seam.seqHashes(tokens, blockSize, root, extra, out);
  return out;
}

function verdict(context: ExplainContext, query: HashedQuery, workers: WorkerExplanation[]): Verdict {
  const { core, settings } = context;
  const { seqHashes, prompt } = query;
  const all = (reason: WorkerReason) => workers.every((worker) => worker.reason === reason);
  if (workers.length === 0) return ['no-workers', 'The index has no workers: call addWorker.'];
  if (seqHashes.length === 0) {
    const length = prompt ? `has ${prompt.tokens.length} tokens, and a block` : 'has no hashes; a block';
    return ['prompt-shorter-than-one-block', `The query ${length} needs ${settings.blockSize} tokens.`];
  }
  const holders = workers.filter((worker) => worker.reason === 'hit');
  if (holders.length > 0) {
    const best = holders.reduce((a, b) => (b.overlapBlocks > a.overlapBlocks ? b : a));
    return [
      'hit',
      `${holders.length} of ${workers.length} workers hold the first block; ` +
        `"${best.worker.name}" holds ${best.overlapBlocks} of ${seqHashes.length} blocks` +
        (best.evictedBy ? `; the next one was resident until ${evicted(best)}.` : '.'),
    ];
  }
  const refused = workers.find((worker) => worker.refusedBlockSize !== undefined);
  if (refused) {
    return [
      'block-size-mismatch',
      `"${refused.worker.name}" stores blocks of ${refused.refusedBlockSize} tokens, and this index of ` +
        `${settings.blockSize} refuses them: give both the same block size.`,
    ];
  }
  if (all('no-stores-yet')) return ['no-stores-yet', whyNoStores(workers)];
  const evictions = workers.filter((worker) => worker.reason === 'evicted');
  const losers = evictions.filter(({ evictedBy }) => evictedBy === evictions[0]!.evictedBy);
  if (losers.length > 0) {
    return [
      'evicted',
      `On ${listed(losers)} the first block of the query was resident until ${evicted(losers[0]!)}.`,
    ];
  }
  const headless = workers.find((worker) => worker.reason === 'head-missing');
  if (headless) {
    return [
      'head-missing',
      `"${headless.worker.name}" holds later blocks of the query, but no worker holds its first: it was removed, ` +
        'or its store never arrived.',
    ];
  }
  const other = prompt && otherHashing(context, prompt);
  if (other) return other;
  if (workers.every((worker) => worker.residentBlocks === 0)) {
    return ['nothing-resident', 'The workers hold no blocks any more: they were removed or cleared.'];
  }
  if (core.contains(seqHashes[0]!)) {
    return [
      'first-block-not-resident',
      'A session owns the first block, but no worker holds it: it was removed everywhere.',
    ];
  }
  return [
    'first-block-unknown',
    'No worker ever held the first block of this query, or it was removed: compare the first tokens, and the block ' +
      'size, namespace and extra keys of the hashes that are stored.',
  ];
}

function whyNoStores(workers: readonly WorkerExplanation[]): string {
  const heard = workers.filter((worker) => worker.lastEventAgeMs !== undefined);
  if (heard.length === 0)
    return 'No worker ever stored a block: do the engines publish KV events, and do they arrive here?';
  const leftOut = heard.flatMap(({ eventsLeftOut }) => eventsLeftOut ?? []);
  const why =
    leftOut.length === 0 ? 'none of them stores a block' : `what stores blocks is left out (${leftOut[0]})`;
  return `Events of ${listed(heard)} arrive, but ${why}: no worker ever stored one.`;
}

/** Reasons that an eviction may stand behind, where the index does not remember it. */
const PERHAPS_EVICTED: readonly ExplainReason[] = [
  'head-missing',
  'nothing-resident',
  'first-block-not-resident',
  'first-block-unknown',
];

function evictionsNote({ core, settings }: ExplainContext, reason: ExplainReason): string[] {
  if (!PERHAPS_EVICTED.includes(reason)) return [];
  const { evictedByCapacity, evictedByBound, expired } = core.stats();
  const evictions = evictedByCapacity + evictedByBound + expired;
  if (evictions <= settings.evictedHistory) return []; // none, or all of them are remembered
  const hint =
    settings.evictedHistory > 0
      ? 'before all that evictedHistory remembers'
      : 'the option evictedHistory would tell';
  return [`Or it was evicted, as ${counted(evictions, 'block')} so far: ${hint}.`];
}

function degradedNote(workers: readonly WorkerExplanation[]): string[] {
  const bounded = workers.filter((worker) => worker.degraded);
  const missed = workers.filter((worker) => worker.eventsDegraded !== undefined);
  const notes: string[] = [];
  if (bounded.length > 0) {
    notes.push(
      `Degraded: maxBlocks took blocks from ${listed(bounded)} or refused some there, which may hold more than is known here.`,
    );
  }
  if (missed.length > 0) {
    notes.push(
      `Degraded: events of ${listed(missed)} are missing (${missed[0]!.eventsDegraded}), which may hold other blocks than are known here.`,
    );
  }
  return notes;
}

function evicted({ evictedBy }: WorkerExplanation): string {
  return `evicted by ${evictedBy === 'ttl' ? 'its ttl' : evictedBy}`;
}

/** `"a", "b", "c" and 2 more` */
function listed(workers: readonly WorkerExplanation[]): string {
  const names = workers.slice(0, NAMED_WORKERS).map(({ worker }) => `"${worker.name}"`);
  const more = workers.length - names.length;
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** The first block, hashed in other ways that the index may have been fed with. */
function otherHashing(
  context: ExplainContext,
  prompt: NonNullable<HashedQuery['prompt']>,
): Verdict | undefined {
  const { core, settings, namespaces } = context;
  const { blockSize } = settings;
  const { tokens, root, extra } = prompt;
  const firstIsKnown = (size: number, parent: bigint, keys?: FlatExtraKeys) =>
    tokens.length >= size && core.contains(hash(tokens.subarray(0, size), size, parent, keys)[0]!);

  for (const size of COMMON_BLOCK_SIZES) {
    if (size !== blockSize && firstIsKnown(size, root, extra)) {
      return [
        'block-size-mismatch',
        `The prompt's first block is known with a block size of ${size}; this index hashes with ${blockSize}.`,
      ];
    }
  }
  const candidates: [bigint, Namespace][] = [[0n, {}], [settings.root, {}], ...namespaces.entries()];
  for (const [candidate, namespace] of candidates) {
    if (candidate !== root && firstIsKnown(blockSize, candidate, extra)) {
      const name =
        candidate === settings.root ? 'the default namespace' : `namespace ${JSON.stringify(namespace)}`;
      return ['namespace-differs', `The prompt's first block is known in ${name}, not in that of the query.`];
    }
  }
  if (extra && firstIsKnown(blockSize, root)) {
    return ['extra-keys-differ', "The prompt's first block is known without the query's extra keys."];
  }
  return undefined;
}
