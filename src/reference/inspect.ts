import { SLOT_MODE } from '../native/seam.js';
import type { IndexState, Predecessor, Slot } from './index-state.js';

/** '' or the first thing that cannot be. */
export function findBrokenInvariant(state: IndexState): string {
  for (const broken of invariants(state)) return broken;
  return '';
}

function* invariants(state: IndexState): Generator<string, void> {
  yield* membership(state);
  for (const [slot, holder] of state.slots.entries()) {
    if (holder) for (const broken of slotInvariants(state, holder)) yield `slot ${slot} ${broken}`;
  }
  yield* knownBlocks(state);
  yield* history(state);
  const inCycle = findCycle(state);
  if (inCycle !== undefined) yield `block ${hex(inCycle)} is its own ancestor`;
  if (state.slots.length > 0 && !state.slots.at(-1)) {
    yield `slot ${state.slots.length - 1} is the last one but not live`;
  }
}

/** The counts and predecessors agree with the sets. */
function* membership({ blocks, slots, sessions }: IndexState): Generator<string, void> {
  const holders = countMembers(slots);
  const owners = countMembers(sessions.values());
  for (const [name, counts] of [
    ['resident', holders],
    ['owned', owners],
  ] as const) {
    for (const hash of counts.keys())
      if (!blocks.has(hash)) yield `block ${hex(hash)} is ${name} but not known`;
  }
  for (const [hash, block] of blocks) {
    const held = holders.get(hash) ?? 0;
    const owned = owners.get(hash) ?? 0;
    if (held + owned === 0) yield `block ${hex(hash)} is neither held nor owned`;
    if (block.holders !== held) yield `block ${hex(hash)} counts ${block.holders} holders, has ${held}`;
    if (block.owners !== owned) yield `block ${hex(hash)} counts ${block.owners} owners, has ${owned}`;
    // Who owns a block has told its way to the root, though `maxBlocks` may have taken blocks of it since.
    if (owned > 0 && block.predecessor === null)
      yield `block ${hex(hash)} is owned but its predecessor unknown`;
  }
}

/** Bounds, and that each side table speaks of resident blocks of the slots that may have it. */
function* slotInvariants(state: IndexState, holder: Slot): Generator<string, void> {
  const { mode, capacity, ttlMs, blocks, stamps, copies, pins } = holder;
  const isBounded = mode === SLOT_MODE.bounded;
  if (isBounded !== capacity > 0) yield `is of mode ${mode} with capacity ${capacity}`;
  if (ttlMs > 0 && !isBounded) yield `is of mode ${mode} with a ttl`;
  if (isBounded && blocks.size > capacity) yield `holds ${blocks.size} blocks, more than ${capacity}`;
  for (const [name, table] of [
    ['stamp', Array.from(stamps, ({ key }) => key)],
    ['copies', copies.keys()],
    ['pins', pins.keys()],
  ] as const) {
    for (const hash of table) {
      if (!blocks.has(hash)) yield `has the ${name} of block ${hex(hash)} but not the block`;
    }
  }
  if (stamps.size !== (isBounded ? blocks.size : 0)) yield `stamps ${stamps.size} of ${blocks.size} blocks`;
  let before = -1;
  for (const { key, value } of stamps) {
    if (value.stamp <= before) yield `has block ${hex(key)} out of the order of stamps`;
    before = value.stamp;
  }
  if (before >= state.nextStamp) yield `has stamp ${before}, the next one is ${state.nextStamp}`;
  if (copies.size > 0 && mode !== SLOT_MODE.counted) yield `is of mode ${mode} with copies`;
  for (const counts of [copies, pins]) {
    for (const [hash, count] of counts) if (!(count >= 1)) yield `counts ${count} at block ${hex(hash)}`;
  }
}

function* knownBlocks({ options, blocks, known, nextStamp }: IndexState): Generator<string, void> {
  const { maxBlocks } = options;
  if (maxBlocks > 0 && blocks.size > maxBlocks) yield `${blocks.size} known blocks, more than ${maxBlocks}`;
  if (known.size !== (maxBlocks > 0 ? blocks.size : 0))
    yield `${known.size} of ${blocks.size} blocks have a stamp`;
  let before = -1;
  for (const { key, value } of known) {
    if (!blocks.has(key)) yield `block ${hex(key)} has a stamp but is not known`;
    if (value <= before) yield `block ${hex(key)} is out of the order of stamps`;
    before = value;
  }
  if (before >= nextStamp) yield `a block has stamp ${before}, the next one is ${nextStamp}`;
}

function* history({ options, slots, history }: IndexState): Generator<string, void> {
  if (history.size > options.evictedHistory) yield `${history.size} evictions are remembered`;
  for (const [slot, hash] of history) {
    if (!slots[slot]) yield `an eviction from slot ${slot}, which is not live, is remembered`;
    if (slots[slot]?.blocks.has(hash)) yield `slot ${slot} holds block ${hex(hash)}, remembered as evicted`;
  }
}

/** A block on a cycle of predecessors, if there is one. */
export function findCycle({ blocks }: Pick<IndexState, 'blocks'>): bigint | undefined {
  const cleared = new Set<bigint>();
  for (const start of blocks.keys()) {
    const path = new Set<bigint>();
    let at: Predecessor = start;
    while (typeof at === 'bigint' && !cleared.has(at)) {
      if (path.has(at)) return at;
      path.add(at);
      at = blocks.get(at)?.predecessor;
    }
    for (const hash of path) cleared.add(hash);
  }
  return undefined;
}

/** One line a block, for people. */
export function describeState({ blocks, slots, sessions }: IndexState): string {
  const lines = [`${blocks.size} blocks, ${slots.filter(Boolean).length} slots, ${sessions.size} sessions`];
  for (const [slot, holder] of slots.entries()) {
    if (holder?.mode === SLOT_MODE.bounded) {
      lines.push(`slot ${slot} holds ${holder.blocks.size} of at most ${holder.capacity} blocks`);
    } else if (holder?.mode === SLOT_MODE.counted) lines.push(`slot ${slot} counts references`);
  }
  for (const [hash, { predecessor }] of blocks) {
    const held = [...slots.keys()].filter((slot) => slots[slot]?.blocks.has(hash));
    const owned = [...sessions].filter(([, session]) => session.blocks.has(hash)).map(([number]) => number);
    lines.push(
      `${hex(hash)} after ${describe(predecessor)} held by {${held.join(' ')}} owned by {${owned.join(' ')}}`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function countMembers(
  sets: Iterable<{ readonly blocks: ReadonlySet<bigint> } | undefined>,
): Map<bigint, number> {
  const counts = new Map<bigint, number>();
  for (const set of sets) for (const hash of set?.blocks ?? []) counts.set(hash, (counts.get(hash) ?? 0) + 1);
  return counts;
}

function describe(predecessor: Predecessor): string {
  if (predecessor === undefined) return 'the root';
  return predecessor === null ? 'an unknown block' : hex(predecessor);
}

function hex(hash: bigint): string {
  return hash.toString(16).padStart(16, '0');
}
