import { type Content, chain } from './crafted-content.js';

/** Section that must be named, what is wrong, and how to make it so. */
export type Impossible = [section: string, what: string, spoil: (content: Content) => void];

export const IMPOSSIBLE: Impossible[] = [
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
    'header',
    'the version before',
    (c) => {
      c.version--;
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
      c.slots[1]!.slot = 0;
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
      c.slots[1]!.slot = 2 ** 32 - 1;
    },
  ],
  [
    'slots',
    'an enormous free slot number',
    (c) => {
      c.freeSlots[0]![0] = 2 ** 32 - 1;
    },
  ],
  [
    'slots',
    'the last incarnation of a live slot',
    (c) => {
      c.slots[0]!.incarnation = 2 ** 32 - 1;
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
      c.chains.push(chain([]));
    },
  ],
  [
    'chains',
    'a chain that is too long',
    (c) => {
      const hashes = Array.from({ length: 4097 }, (_, i) => BigInt(i + 100));
      c.chains.push({ ...chain(hashes), holders: [[0, 0, 4097]] });
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
      c.chains[1]!.holders.splice(1, 0, [2, 2, 2]);
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
    'an owner of an orphan',
    (c) => {
      c.chains[2]!.owners = [[5, 1]];
    },
  ],
  [
    'chains',
    'a block that nobody holds or owns',
    (c) => {
      c.chains[1]!.holders[0] = [2, 0, 1];
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
      c.chains[2] = { ...chain([30n]), kind: 1, before: 41n, holders: [[0, 0, 1]] };
      c.chains.push({ ...chain([40n, 41n]), kind: 1, before: 30n, holders: [[0, 0, 2]] });
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
