import { outOfRange } from '../errors.js';
import type { EventMemory } from '../native/event-memory.js';
import { EVENT, EVENT_KIND, EVENT_PLACES, TIER_COUNT } from '../native/seam.js';

/** One event of the columns, as far as names and residency are concerned. */
export interface EngineEvent {
  /** Of EVENT_KIND. */
  readonly kind: number;
  readonly tier: number;
  readonly names: BigUint64Array;
  readonly parentName: bigint | undefined;
  readonly tokens: Uint32Array;
}

export function readEvent({ rows, hashes, tokens }: EventMemory, i: number): EngineEvent {
  const at = (place: number) => rows[i * EVENT_PLACES + place]!;
  const hashAt = at(EVENT.hashAt);
  const parentAt = at(EVENT.parentAt);
  const tokenAt = at(EVENT.tokenAt);
  return {
    kind: at(EVENT.kind),
    tier: at(EVENT.tier),
    names: hashes.subarray(hashAt, hashAt + at(EVENT.blocks)),
    parentName: parentAt < 0 ? undefined : hashes[parentAt],
    tokens: tokens.subarray(tokenAt, tokenAt + at(EVENT.tokens)),
  };
}

/** Throws unless `first … end − 1` are events whose places fit the columns, and each goes to a tier that has a slot. */
export function checkEvents(
  { rows, hashes, tokens }: EventMemory,
  first: number,
  end: number,
  blockSize: number,
  hasSlot: (tier: number) => boolean,
): void {
  if (first < 0 || first > end || end * EVENT_PLACES > rows.length) {
    throw outOfRange('first and end', `a range of the ${Math.floor(rows.length / EVENT_PLACES)} events`, end);
  }
  for (let i = first; i < end; i++) {
    const at = (place: number) => rows[i * EVENT_PLACES + place]!;
    const check = (place: keyof typeof EVENT, from: number, to: number) => {
      const value = at(EVENT[place]);
      if (value < from || value > to)
        throw outOfRange(`${place} of event ${i}`, `from ${from} to ${to}`, value);
    };
    check('kind', EVENT_KIND.odd, EVENT_KIND.cleared);
    if (at(EVENT.kind) === EVENT_KIND.odd) continue;
    check('tier', -1, TIER_COUNT - 1);
    // A clear goes to all tiers, whichever have a slot.
    if (at(EVENT.tier) < 0 || at(EVENT.kind) === EVENT_KIND.cleared) continue;
    if (!hasSlot(at(EVENT.tier)))
      throw outOfRange(`tier of event ${i}`, 'one that has a slot', at(EVENT.tier));
    check('hashAt', 0, hashes.length);
    check('blocks', 0, hashes.length - at(EVENT.hashAt));
    if (at(EVENT.kind) === EVENT_KIND.removed) continue;
    check('parentAt', -1, hashes.length - 1);
    check('tokenAt', 0, tokens.length);
    check('tokens', 0, tokens.length - at(EVENT.tokenAt));
    if (at(EVENT.tokens) > 0 && at(EVENT.tokens) !== at(EVENT.blocks) * blockSize) {
      throw outOfRange(
        `tokens of event ${i}`,
        `${at(EVENT.blocks)} blocks of ${blockSize}`,
        at(EVENT.tokens),
      );
    }
  }
}
