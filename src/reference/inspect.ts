import type { IndexState, Predecessor } from './index-state.js';

/** '' or the first thing in which the counts and predecessors disagree with the sets. */
export function findBrokenInvariant(state: IndexState): string {
  const { blocks, slots, sessions } = state;
  const holders = countMembers(slots);
  const owners = countMembers(sessions.values());
  for (const [name, counts] of [
    ['resident', holders],
    ['owned', owners],
  ] as const) {
    for (const hash of counts.keys())
      if (!blocks.has(hash)) return `block ${hex(hash)} is ${name} but not known`;
  }
  for (const [hash, block] of blocks) {
    const held = holders.get(hash) ?? 0;
    const owned = owners.get(hash) ?? 0;
    if (held + owned === 0) return `block ${hex(hash)} is neither held nor owned`;
    if (block.holders !== held) return `block ${hex(hash)} counts ${block.holders} holders, has ${held}`;
    if (block.owners !== owned) return `block ${hex(hash)} counts ${block.owners} owners, has ${owned}`;
  }
  for (const [number, session] of sessions) {
    for (const hash of session.blocks) {
      const { predecessor } = blocks.get(hash)!;
      const closed =
        typeof predecessor === 'bigint' ? session.blocks.has(predecessor) : predecessor === undefined;
      if (!closed) return `session ${number} owns block ${hex(hash)} but not the block before it`;
    }
  }
  const inCycle = findCycle(state);
  if (inCycle !== undefined) return `block ${hex(inCycle)} is its own ancestor`;
  if (slots.length > 0 && !slots.at(-1)) return `slot ${slots.length - 1} is the last one but not live`;
  return '';
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
