import { KvidxError } from '../../errors.js';
import { decodeSections, encodeSections, type SectionFormat } from '../../kv-index/section-file.js';
import { checkWorkerName, TIERS, type Tier } from '../../kv-index/workers.js';
import { type EngineNameEntries, TIER_COUNT } from '../../native/seam.js';
import { checkBoolean, checkBytes, checkChoice, checkInteger, checkOptions } from '../../validate.js';
import { DEGRADED_REASONS, type DegradedReason, type StreamPosition } from '../stream/types.js';
import type { FeedContext } from './context.js';
import type { FeedStream } from './feed-stream.js';
import { checkRank, FollowedEngine } from './followed-engine.js';
import type { FollowedRank } from './followed-rank.js';
import type { SavedTensorRt } from './tensorrt-state.js';

/*
 * What a feed knows, around the index's own snapshot. Nothing of it is trusted.
 *
 *   settings  {"root": "…", "referenceCounts": …}
 *   engines   [{worker, ranks: [{dpRank, tiers, groups, names, tensorRt, tensorRtDegraded}], streams: [{stream, ranks, sequence, check, degraded}]}]
 *   names     of each rank in that order: u64le names, u64le seq hashes, u16le copies (TIER_COUNT each)
 *   index     see KvIndex.snapshot
 */

const FORMAT: SectionFormat<'settings' | 'engines' | 'names' | 'index'> = {
  magic: 'kvidxfd1',
  sections: ['settings', 'engines', 'names', 'index'],
  bad: (section, problem) => bad(section, problem),
};

interface SavedRank {
  readonly dpRank: number;
  readonly tiers: readonly Tier[];
  readonly groups: readonly [number, boolean][];
  readonly names: number;
  readonly tensorRt: SavedTensorRt;
  /** Of the ids of its events. */
  readonly tensorRtDegraded: string | null;
}

interface SavedStream {
  readonly stream: number;
  readonly ranks: readonly number[];
  readonly sequence: number;
  readonly check: string;
  readonly degraded: string | null;
}

interface SavedEngine {
  readonly worker: string;
  readonly ranks: readonly SavedRank[];
  readonly streams: readonly SavedStream[];
}

export function saveFeed(context: FeedContext, engines: readonly FollowedEngine[]): Uint8Array {
  const index = context.index.snapshot();
  const parts: Uint8Array[] = [];
  const saved: SavedEngine[] = [];
  for (const engine of engines) {
    const ranks = engine.ranks().map((rank): SavedRank => {
      const { names, seqs, copies } = rank.names.entries();
      for (const column of [names, seqs, copies]) parts.push(bytesOf(column));
      return {
        dpRank: rank.dpRank,
        tiers: rank.tiers,
        groups: rank.groups.entries(),
        names: names.length,
        ...savedTensorRt(rank),
      };
    });
    saved.push({ worker: engine.name, ranks, streams: engine.streams().flatMap(saveStream) });
  }
  return encodeSections(FORMAT, {
    settings: toJson(settingsOf(context)),
    engines: toJson(saved),
    names: Buffer.concat(parts),
    index,
  });
}

function savedTensorRt({ tensorRt, marks }: FollowedRank) {
  return { tensorRt: tensorRt.save(), tensorRtDegraded: marks.of('tensorrt') ?? null };
}

function saveStream({ dpRank, position, ranks }: FeedStream): SavedStream[] {
  if (position === undefined) return [];
  const { sequence, check, degraded } = position;
  return [{ stream: dpRank, ranks, sequence, check: String(check), degraded: degraded ?? null }];
}

function settingsOf({ namespaces, countsCopies }: FeedContext) {
  return { root: String(namespaces.plain), referenceCounts: countsCopies };
}

export function restoreFeed(context: FeedContext, bytes: Uint8Array): FollowedEngine[] {
  const payloads = decodeSections(FORMAT, checkBytes(bytes));
  inSection('settings', () => {
    if (JSON.stringify(fromJson(payloads.settings)) !== JSON.stringify(settingsOf(context)))
      throw new Error('its namespace or referenceCounts are not those of this feed');
  });
  const saved = inSection('engines', () => checkList(fromJson(payloads.engines)).map(checkEngine));
  const names = inSection('names', () => readNames(payloads.names, saved));
  const { index } = context;
  const before = index.snapshot();
  index.restore(payloads.index);
  try {
    return inSection('engines', () => saved.map((engine) => restoreEngine(context, engine, names)));
  } catch (error) {
    index.restore(before);
    throw error;
  }
}

function restoreEngine(
  context: FeedContext,
  saved: SavedEngine,
  names: ReadonlyMap<SavedRank, EngineNameEntries>,
): FollowedEngine {
  const engine = new FollowedEngine(context, saved.worker);
  for (const savedRank of saved.ranks) {
    const rank = engine.rank(savedRank.dpRank, true);
    rank.restoreTiers(savedRank.tiers);
    rank.groups.load(savedRank.groups);
    rank.names.load(names.get(savedRank)!);
    rank.tensorRt.load(savedRank.tensorRt);
    const reason = savedRank.tensorRtDegraded as DegradedReason | null;
    rank.marks.set('tensorrt', reason ?? undefined);
  }
  for (const { stream, ranks, sequence, check, degraded } of saved.streams) {
    const reason = degraded as StreamPosition['degraded'] | null;
    engine.stream(stream).resume({ sequence, check: BigInt(check), degraded: reason ?? undefined }, ranks);
  }
  return engine;
}

// ------------------------------------------------------------------------------------------------------- shapes

type Shape = Readonly<Record<string, unknown>>;

function checkEngine(json: unknown): SavedEngine {
  const { worker, ranks, streams } = json as Shape;
  return {
    worker: checkWorkerName(worker),
    ranks: checkList(ranks).map(checkSavedRank),
    streams: checkList(streams).map(checkSavedStream),
  };
}

function checkSavedRank(json: unknown): SavedRank {
  const { dpRank, tiers, groups, names, tensorRt, tensorRtDegraded } = json as Shape;
  const { window, eventId } = checkOptions(tensorRt as object) as Shape;
  return {
    dpRank: checkRank(dpRank),
    tiers: checkList(tiers).map((tier) => checkChoice('a tier', tier, TIERS)),
    groups: checkList(groups).map((entry) => {
      const [group, isMain] = checkList(entry);
      return [checkInteger('a group', group, 0, 0xffff_ffff), checkBoolean('isMain', isMain)];
    }),
    names: checkInteger('names', names, 0, Number.MAX_SAFE_INTEGER),
    tensorRt: { window: checkNumber('window', window), eventId: checkNumber('eventId', eventId) },
    tensorRtDegraded: checkReason(tensorRtDegraded),
  };
}

function checkSavedStream(json: unknown): SavedStream {
  const { stream, ranks, sequence, check, degraded } = json as Shape;
  if (typeof check !== 'string' || !/^\d{1,20}$/.test(check)) throw new Error('a check is no u64');
  return {
    stream: checkRank(stream),
    ranks: checkList(ranks).map(checkRank),
    sequence: checkInteger('sequence', sequence, 0, Number.MAX_SAFE_INTEGER),
    check,
    degraded: checkReason(degraded),
  };
}

function checkReason(value: unknown): string | null {
  return value === null ? null : checkChoice('degraded', value, DEGRADED_REASONS);
}

function checkNumber(what: string, value: unknown): number | null {
  return value === null ? null : checkInteger(what, value, 0, Number.MAX_SAFE_INTEGER);
}

function checkList(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Error('it is no list');
  return value;
}

function readNames(bytes: Uint8Array, saved: readonly SavedEngine[]): Map<SavedRank, EngineNameEntries> {
  const { buffer } = bytes.slice(); // aligned
  const entries = new Map<SavedRank, EngineNameEntries>();
  let at = 0;
  for (const rank of saved.flatMap((engine) => engine.ranks)) {
    const { names: n } = rank;
    const end = at + n * (16 + 2 * TIER_COUNT);
    if (end > bytes.length) throw new Error('it ends too early');
    const names = new BigUint64Array(buffer, at, n);
    const seqs = new BigUint64Array(buffer, at + 8 * n, n);
    const copies = new Uint16Array(buffer, at + 16 * n, n * TIER_COUNT);
    checkNames(rank, names, copies);
    entries.set(rank, { names, seqs, copies });
    at = end;
  }
  if (at !== bytes.length) throw new Error(`${bytes.length - at} bytes too many`);
  return entries;
}

/** Names rise, and each has a copy in some tier, and in none that the rank has not. */
function checkNames({ tiers }: SavedRank, names: BigUint64Array, copies: Uint16Array): void {
  for (let i = 0; i < names.length; i++) {
    if (i > 0 && names[i]! <= names[i - 1]!) throw new Error('its names do not rise');
    let sum = 0;
    for (const [t, tier] of TIERS.entries()) {
      const count = copies[i * TIER_COUNT + t]!;
      if (count > 0 && !tiers.includes(tier))
        throw new Error(`a block in a tier "${tier}" that its rank has not`);
      sum += count;
    }
    if (sum === 0) throw new Error('a name without a block');
  }
}

// --------------------------------------------------------------------------------------------------------- bytes

function bytesOf(column: BigUint64Array | Uint16Array): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
}

function toJson(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

function fromJson(payload: Uint8Array): unknown {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
}

function inSection<T>(section: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw bad(section, (error as Error).message, error);
  }
}

function bad(section: string, problem: string, cause?: unknown): KvidxError {
  return new KvidxError(
    'ERR_KVIDX_BAD_SNAPSHOT',
    `feed snapshot section "${section}": ${problem}; nothing was restored`,
    cause === undefined ? undefined : { cause },
  );
}
