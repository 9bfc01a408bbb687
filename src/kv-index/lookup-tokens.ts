import { flattenExtraKeys } from '../hash/extra-keys.js';
import { type Namespace, namespaceRoot } from '../hash/namespace.js';
import type { CoreIndex } from '../native/seam.js';
import { checkInteger, checkOptions, checkTokens } from '../validate.js';
import type { NamespaceLog } from './namespace-log.js';
import { type IndexSettings, MAX_U32 } from './options.js';
import { checkSessionName, type SessionTable } from './sessions.js';
import type { LookupOptions, LookupResult } from './types.js';

export interface LookupContext {
  readonly core: CoreIndex;
  /** Asked when nothing of the caller's is read any more: reading a namespace or extra keys may run any code. */
  readonly slotCount: () => number;
  readonly sessions: SessionTable;
  readonly settings: IndexSettings;
  readonly namespaces: NamespaceLog;
}

export function readLookupOptions(options: LookupOptions | undefined) {
  const { namespace, extraKeys, session, maxOwners = 1, fair = false } = checkOptions(options);
  return { namespace, extraKeys, session, maxOwners, fair };
}

/** `KvIndex.lookupTokens`, its options read but not checked. */
export function lookUpTokens(
  context: LookupContext,
  tokens: unknown,
  { namespace, extraKeys, session, maxOwners, fair }: ReturnType<typeof readLookupOptions>,
): LookupResult {
  const { core, sessions, settings } = context;
  const ids = checkTokens(tokens);
  const number = session === undefined ? 0 : sessions.numberOf(checkSessionName(session));
  checkInteger('maxOwners', maxOwners, 1, MAX_U32);
  const root = rootOf(context, namespace);
  const { blockSize } = settings;
  const blocks = Math.floor(ids.length / blockSize);
  const extra = flattenExtraKeys(extraKeys, 0, blocks);

  const slotCount = context.slotCount();
  const seqHashes = new BigUint64Array(blocks);
  const overlap = new Uint32Array(slotCount);
  const exclusive = session === undefined ? undefined : new Uint32Array(slotCount);
  const fairOverlap = fair ? new Float64Array(slotCount) : undefined;
  core.lookupTokens(
    ids,
    blockSize,
    root,
    extra,
    number,
    maxOwners,
    seqHashes,
    overlap,
    exclusive,
    fairOverlap,
  );
  return { seqHashes, overlap, exclusive, fair: fairOverlap };
}

function rootOf({ settings, namespaces }: LookupContext, namespace: Namespace | undefined): bigint {
  if (namespace === undefined) return settings.root;
  const root = namespaceRoot(namespace);
  namespaces.note(root, namespace);
  return root;
}
