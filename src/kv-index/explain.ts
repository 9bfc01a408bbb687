import { invalidArgType } from '../errors.js';
import { type ExtraKeys, flattenExtraKeys } from '../hash/extra-keys.js';
import { type Namespace, namespaceRoot } from '../hash/namespace.js';
import { seam } from '../native/index.js';
import { type CoreIndex, type FlatExtraKeys, MODE } from '../native/seam.js';
import { checkHashes, checkTokens } from '../validate.js';
import type { NamespaceLog } from './namespace-log.js';
import type { WorkerHandle } from './workers.js';

/** Block sizes that engines and routers use, tried when a prompt's first block is unknown. */
const COMMON_BLOCK_SIZES = [1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024];

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
  | 'head-missing'
  | 'block-size-mismatch'
  | 'namespace-differs'
  | 'extra-keys-differ'
  | 'nothing-resident'
  | 'first-block-not-resident'
  | 'first-block-unknown';

/** Why one worker holds nothing of the prompt's head. */
export type WorkerReason =
  | 'hit'
  | 'no-stores-yet'
  | 'nothing-resident'
  | 'head-missing'
  | 'first-block-elsewhere'
  | 'first-block-unknown';

export interface WorkerExplanation {
  readonly worker: WorkerHandle;
  /** Leading blocks of the query on this worker. */
  readonly overlapBlocks: number;
  readonly residentBlocks: number;
  /** Age of the last accepted store, in ms; undefined: none. */
  readonly lastStoreAgeMs: number | undefined;
  readonly reason: WorkerReason;
}

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
  readonly blockSize: number;
  readonly root: bigint;
  readonly namespaces: NamespaceLog;
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
  return { reason, message, blocks: hashed.seqHashes.length, workers };
}

function hashQuery(context: ExplainContext, query: ExplainQuery): HashedQuery {
  if (typeof query !== 'object' || query === null) throw invalidArgType('query', 'an object', query);
  if ('seqHashes' in query)
    return { seqHashes: checkHashes(query.seqHashes, 'seqHashes'), prompt: undefined };
  const tokens = checkTokens(query.tokens);
  const root = query.namespace === undefined ? context.root : namespaceRoot(query.namespace);
  const extra = flattenExtraKeys(query.extraKeys, 0, Math.floor(tokens.length / context.blockSize));
  return { seqHashes: hash(tokens, context.blockSize, root, extra), prompt: { tokens, root, extra } };
}

function hash(tokens: Uint32Array, blockSize: number, root: bigint, extra?: FlatExtraKeys): BigUint64Array {
  const out = new BigUint64Array(Math.floor(tokens.length / blockSize));
  seam.seqHashes(tokens, blockSize, root, extra, out);
  return out;
}

function explainWorkers(context: ExplainContext, seqHashes: BigUint64Array): WorkerExplanation[] {
  const { core, nowMs } = context;
  const leading = new Uint32Array(core.slotCount());
  const anywhere = new Uint32Array(core.slotCount());
  core.overlap(seqHashes, MODE.prefix, leading);
  core.overlap(seqHashes, MODE.set, anywhere);
  const headIsSomewhere = leading.some((blocks) => blocks > 0);
  return context.workers.map((worker) => {
    const overlapBlocks = leading[worker.slot]!;
    const residentBlocks = core.residentBlocks(worker.slot);
    const lastStoreMs = core.lastStoreMs(worker.slot);
    let reason: WorkerReason = 'first-block-unknown';
    if (overlapBlocks > 0) reason = 'hit';
    else if (lastStoreMs < 0) reason = 'no-stores-yet';
    else if (residentBlocks === 0) reason = 'nothing-resident';
    else if (anywhere[worker.slot]! > 0) reason = 'head-missing';
    else if (headIsSomewhere) reason = 'first-block-elsewhere';
    return {
      worker,
      overlapBlocks,
      residentBlocks,
      lastStoreAgeMs: lastStoreMs < 0 ? undefined : nowMs - lastStoreMs,
      reason,
    };
  });
}

function verdict(context: ExplainContext, query: HashedQuery, workers: WorkerExplanation[]): Verdict {
  const { core, blockSize } = context;
  const { seqHashes, prompt } = query;
  const all = (reason: WorkerReason) => workers.every((worker) => worker.reason === reason);
  if (workers.length === 0) return ['no-workers', 'The index has no workers: call addWorker.'];
  if (seqHashes.length === 0) {
    const length = prompt ? `has ${prompt.tokens.length} tokens, and a block` : 'has no hashes; a block';
    return ['prompt-shorter-than-one-block', `The query ${length} needs ${blockSize} tokens.`];
  }
  const holders = workers.filter((worker) => worker.reason === 'hit');
  if (holders.length > 0) {
    const best = holders.reduce((a, b) => (b.overlapBlocks > a.overlapBlocks ? b : a));
    return [
      'hit',
      `${holders.length} of ${workers.length} workers hold the first block; ` +
        `"${best.worker.name}" holds ${best.overlapBlocks} of ${seqHashes.length} blocks.`,
    ];
  }
  if (all('no-stores-yet')) {
    return [
      'no-stores-yet',
      'No worker ever stored a block: do the engines publish KV events, and do they arrive here?',
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

/** The first block, hashed in other ways that the index may have been fed with. */
function otherHashing(
  context: ExplainContext,
  prompt: NonNullable<HashedQuery['prompt']>,
): Verdict | undefined {
  const { core, blockSize } = context;
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
  const candidates: [bigint, Namespace][] = [[0n, {}], [context.root, {}], ...context.namespaces.entries()];
  for (const [candidate, namespace] of candidates) {
    if (candidate !== root && firstIsKnown(blockSize, candidate, extra)) {
      const name =
        candidate === context.root ? 'the default namespace' : `namespace ${JSON.stringify(namespace)}`;
      return ['namespace-differs', `The prompt's first block is known in ${name}, not in that of the query.`];
    }
  }
  if (extra && firstIsKnown(blockSize, root)) {
    return ['extra-keys-differ', "The prompt's first block is known without the query's extra keys."];
  }
  return undefined;
}
