import { EventMemory, PLACE } from '../../src/native/event-memory.js';
import {
  APPLIED,
  type CoreEngineNames,
  EVENT,
  EVENT_KIND,
  EVENT_PLACES,
  type FlatExtraKeys,
  STATUS,
  TIER_COUNT,
} from '../../src/native/seam.js';

/** One event for engine names. */
export interface Told {
  readonly kind: keyof typeof EVENT_KIND;
  readonly names?: readonly bigint[];
  readonly parent?: bigint | undefined;
  /** None: by name. */
  readonly tokens?: readonly number[];
  readonly tier?: number;
}

export function stored(names: readonly bigint[], tokens: readonly number[] = [], parent?: bigint): Told {
  return { kind: 'stored', names, tokens, parent };
}

export function removed(names: readonly bigint[]): Told {
  return { kind: 'removed', names };
}

export const CLEARED: Told = { kind: 'cleared' };

export function inTier(tier: number, event: Told): Told {
  return { ...event, tier };
}

/** Events side by side, the parent behind the names of its event. */
export function memoryOf(events: readonly Told[]): EventMemory {
  const rows = new Int32Array(events.length * EVENT_PLACES);
  const hashes: bigint[] = [];
  const ids: number[] = [];
  for (const [i, { kind, names = [], parent, tokens = [], tier = 0 }] of events.entries()) {
    const row = rows.subarray(i * EVENT_PLACES, (i + 1) * EVENT_PLACES);
    row[EVENT.kind] = EVENT_KIND[kind];
    row[EVENT.blocks] = names.length;
    row[EVENT.hashAt] = hashes.length;
    hashes.push(...names);
    row[EVENT.parentAt] = parent === undefined ? -1 : hashes.length;
    if (parent !== undefined) hashes.push(parent);
    row[EVENT.tokens] = tokens.length;
    row[EVENT.tokenAt] = ids.length;
    ids.push(...tokens);
    row[EVENT.tier] = tier;
  }
  const memory = EventMemory.of({ events: events.length, hashes: hashes.length, tokens: ids.length });
  memory.rows.set(rows);
  memory.hashes.set(hashes);
  memory.tokens.set(ids);
  return memory;
}

export interface Application {
  readonly slots: Uint32Array;
  readonly root?: bigint;
  readonly blockSize: number;
  readonly extra?: FlatExtraKeys;
  readonly nowMs?: number;
}

/** A memory with all that a call takes. */
export function toldMemory(events: readonly Told[], how: Application): EventMemory {
  const memory = memoryOf(events);
  memory.integers[PLACE.first] = 0;
  memory.integers[PLACE.end] = events.length;
  memory.integers[PLACE.blockSize] = how.blockSize;
  memory.slots.set(how.slots);
  memory.root = how.root ?? 0n;
  memory.nowMs = how.nowMs ?? 0;
  memory.applied.fill(-1);
  return memory;
}

/** Applies events; answers what they did, without zeros. */
export function applyTo(names: CoreEngineNames, events: readonly Told[], how: Application) {
  const memory = toldMemory(events, how);
  const status = names.apply(memory.bytes, how.extra);
  const result = memory.applied;
  const counts = Object.entries(APPLIED).map(([count, place]) => [count, result[place]!] as const);
  return {
    status: Object.keys(STATUS).find((key) => STATUS[key as keyof typeof STATUS] === status),
    ...Object.fromEntries(counts.filter(([, n]) => n !== 0)),
  };
}

/** Entries in a form that can be compared. */
export function listOf(names: CoreEngineNames): { name: bigint; seq: bigint; copies: number[] }[] {
  const { names: all, seqs, copies } = names.entries();
  return Array.from(all, (name, i) => ({
    name,
    seq: seqs[i]!,
    copies: Array.from(copies.subarray(i * TIER_COUNT, (i + 1) * TIER_COUNT)),
  }));
}
