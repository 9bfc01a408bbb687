import { describe, expect, it } from 'vitest';
import type { CoreIndex } from '../../src/native/seam.js';
import { reference, tested } from './backends.js';
import { type Content, encode, possible } from './crafted-content.js';

/** Section that must be named, what is wrong, and how to make it so. */
const IMPOSSIBLE: [section: string, what: string, spoil: (content: Content) => void][] = [
  [
    'header',
    'a foreign magic number',
    (c) => {
      c.magic++;
    },
  ],
  [
    'header',
    'a later version',
    (c) => {
      c.version++;
    },
  ],
  [
    'slots',
    'a section of another tag',
    (c) => {
      c.tags[0] = 2;
    },
  ],
  [
    'slots',
    'a slot twice',
    (c) => {
      c.slots[1]![0] = 0;
    },
  ],
  [
    'slots',
    'a slot both live and free',
    (c) => {
      c.freeSlots[0]![0] = 2;
    },
  ],
  [
    'slots',
    'a slot number left out',
    (c) => {
      c.freeSlots = [];
    },
  ],
  [
    'slots',
    'an enormous slot number',
    (c) => {
      c.slots[1]![0] = 2 ** 32 - 1;
    },
  ],
  [
    'slots',
    'the last incarnation of a live slot',
    (c) => {
      c.slots[0]![1] = 2 ** 32 - 1;
    },
  ],
  [
    'slots',
    'the last incarnation of a free slot',
    (c) => {
      c.freeSlots[0]![1] = 2 ** 32 - 1;
    },
  ],
  [
    'sessions',
    'session 0',
    (c) => {
      c.sessions[0]![0] = 0;
    },
  ],
  [
    'sessions',
    'a session twice',
    (c) => {
      c.sessions.push([5, 8]);
    },
  ],
  [
    'sessions',
    'an enormous session number',
    (c) => {
      c.sessions[0]![0] = 2 ** 32 - 1;
    },
  ],
  [
    'sessions',
    'a live session left out',
    (c) => {
      c.sessions = [];
    },
  ],
  [
    'sessions',
    'free session 0',
    (c) => {
      c.freeSessions.unshift(0);
    },
  ],
  [
    'sessions',
    'a free session twice',
    (c) => {
      c.freeSessions.splice(1, 0, 1);
    },
  ],
  [
    'sessions',
    'a session both live and free',
    (c) => {
      c.freeSessions.splice(4, 0, 5);
    },
  ],
  [
    'sessions',
    'a session both live and free, instead of another',
    (c) => {
      c.freeSessions = [1, 2, 3, 5, 6];
    },
  ],
  [
    'sessions',
    'a free session left out',
    (c) => {
      c.freeSessions = [1, 2, 4, 6];
    },
  ],
  [
    'sessions',
    'no free sessions',
    (c) => {
      c.freeSessions = [];
    },
  ],
  [
    'sessions',
    'free sessions out of order',
    (c) => {
      c.freeSessions.reverse();
    },
  ],
  [
    'sessions',
    'a free session beyond all',
    (c) => {
      c.freeSessions = [1, 2, 3, 4, 7];
    },
  ],
  [
    'sessions',
    'an enormous free session',
    (c) => {
      c.freeSessions.push(2 ** 32 - 1);
    },
  ],
  [
    'chains',
    'an unknown kind of predecessor',
    (c) => {
      c.chains[0]!.kind = 3;
    },
  ],
  [
    'chains',
    'a hash before a chain that starts at the root',
    (c) => {
      c.chains[0]!.before = 9n;
    },
  ],
  [
    'chains',
    'an empty chain',
    (c) => {
      c.chains.push({ kind: 0, before: 0n, hashes: [], holders: [], owners: [] });
    },
  ],
  [
    'chains',
    'a chain that is too long',
    (c) => {
      const hashes = Array.from({ length: 4097 }, (_, i) => BigInt(i + 100));
      c.chains.push({ kind: 0, before: 0n, hashes, holders: [[0, 0, 4097]], owners: [] });
    },
  ],
  [
    'chains',
    'a block twice',
    (c) => {
      c.chains[2]!.hashes[0] = 21n;
    },
  ],
  [
    'chains',
    'a block twice in one chain',
    (c) => {
      c.chains[0]!.hashes[2] = 10n;
    },
  ],
  [
    'chains',
    'a holder that is no live slot',
    (c) => {
      c.chains[2]!.holders[0]![0] = 1;
    },
  ],
  [
    'chains',
    'a holder beyond all slots',
    (c) => {
      c.chains[2]!.holders[0]![0] = 9;
    },
  ],
  [
    'chains',
    'an empty holding',
    (c) => {
      c.chains[1]!.holders.push([2, 2, 2]);
    },
  ],
  [
    'chains',
    'a holding beyond the chain',
    (c) => {
      c.chains[1]!.holders[0]![2] = 3;
    },
  ],
  [
    'chains',
    'holdings that touch',
    (c) => {
      c.chains[0]!.holders[1]![1] = 1;
    },
  ],
  [
    'chains',
    'holdings out of order',
    (c) => {
      c.chains[0]!.holders.reverse();
    },
  ],
  [
    'chains',
    'an owner that is no session',
    (c) => {
      c.chains[0]!.owners[0]![0] = 4;
    },
  ],
  [
    'chains',
    'an owner beyond all sessions',
    (c) => {
      c.chains[0]!.owners[0]![0] = 999;
    },
  ],
  [
    'chains',
    'an owner twice',
    (c) => {
      c.chains[0]!.owners.push([5, 1]);
    },
  ],
  [
    'chains',
    'an owner of nothing',
    (c) => {
      c.chains[1]!.owners[0]![1] = 0;
    },
  ],
  [
    'chains',
    'an owner beyond the chain',
    (c) => {
      c.chains[1]!.owners[0]![1] = 3;
    },
  ],
  [
    'chains',
    'an owner without the block before',
    (c) => {
      c.chains[0]!.owners[0]![1] = 1;
    },
  ],
  [
    'chains',
    'an owner of an orphan',
    (c) => {
      c.chains[2]!.owners = [[5, 1]];
    },
  ],
  [
    'chains',
    'a block that nobody holds or owns',
    (c) => {
      c.chains[1]!.holders = [[2, 0, 1]];
    },
  ],
  [
    'chains',
    'a chain before itself',
    (c) => {
      c.chains[2] = { ...c.chains[2]!, kind: 1, before: 30n };
    },
  ],
  [
    'chains',
    'chains in a circle',
    (c) => {
      c.chains[2] = { kind: 1, before: 41n, hashes: [30n], holders: [[0, 0, 1]], owners: [] };
      c.chains.push({ kind: 1, before: 30n, hashes: [40n, 41n], holders: [[0, 0, 2]], owners: [] });
    },
  ],
  [
    'counters',
    'a section of another tag',
    (c) => {
      c.tags[3] = 3;
    },
  ],
  [
    'end',
    'a section of another tag',
    (c) => {
      c.tags[4] = 6;
    },
  ],
  [
    'end',
    'bytes after the end',
    (c) => {
      c.trailing = 1;
    },
  ],
];

describe.each([
  ['reference', reference],
  [`tested (${tested.name})`, tested],
] as const)('restore of a crafted snapshot, %s backend', (_, seam) => {
  it('takes a possible one', () => {
    const index = seam.createIndex({ maxSessions: 0 });
    expect(index.restore(encode(possible()))).toBe('');
    expect(index.validate()).toBe('');
    expect([index.incarnation(0), index.incarnation(2), index.lastStoreMs(0)]).toEqual([2, 5, 5]);
    expect(index.stats()).toMatchObject({ blocks: 6, slots: 2, sessions: 1, duplicates: 1, orphans: 1 });
    expect(Array.from(index.enumerate(2))).toEqual([10n, 11n, 12n, 20n, 21n]);
    const out = new Uint32Array(3);
    index.exclusiveOverlap(5, BigUint64Array.of(10n, 11n, 20n, 21n), 0, 1, out);
    expect(Array.from(out)).toEqual([1, 0, 3]);
    index.close();
  });

  it('gives the free sessions of the file next, the smallest first', () => {
    const index = seam.createIndex({ maxSessions: 0 });
    index.own(0, BigUint64Array.of(1n), 0, new Float64Array(7));
    expect(index.restore(encode(possible()))).toBe('');
    const own = (hash: bigint) => index.own(0, BigUint64Array.of(hash), 8, new Float64Array(7));
    expect([100n, 101n, 102n].map(own)).toEqual([1, 2, 3]);
    index.endSession(2);
    expect([103n, 104n, 105n, 106n].map(own)).toEqual([2, 4, 6, 7]);
    expect(index.validate()).toBe('');
    index.close();
  });

  it.each(IMPOSSIBLE)('names section %s for %s', (section, _what, spoil) => {
    const index = filled(seam.createIndex({ maxSessions: 0 }));
    const content = possible();
    spoil(content);
    expect(index.restore(encode(content))).toBe(section);
    expect(index.validate()).toBe('');
    expect(Array.from(index.enumerate(0))).toEqual([1n, 2n]);
    expect(index.incarnation(0)).toBe(1);
    index.close();
  });
});

function filled(index: CoreIndex): CoreIndex {
  index.addSlot();
  index.store(0, 1, BigUint64Array.of(1n, 2n), undefined, 0, new Float64Array(7));
  return index;
}
