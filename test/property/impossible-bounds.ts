import { type Content, chain, giveKnownStamps, KNOWN, NEXT_STAMP } from './crafted-content.js';
import type { Impossible } from './impossible-content.js';

/** What bounds, stamps and copies must not be. */
export const IMPOSSIBLE_BOUNDS: Impossible[] = [
  [
    'slots',
    'an unknown mode',
    (c) => {
      c.slots[0]!.mode = 3;
    },
  ],
  [
    'slots',
    'a slot that is neither degraded nor not',
    (c) => {
      c.slots[0]!.degraded = 2;
    },
  ],
  [
    'slots',
    'bytes where there are none',
    (c) => {
      c.slots[0]!.padding = 1;
    },
  ],
  [
    'slots',
    'a bounded slot of capacity 0',
    (c) => {
      bounded(c).capacity = 0;
    },
  ],
  [
    'slots',
    'a capacity on a plain slot',
    (c) => {
      c.slots[0]!.capacity = 4;
    },
  ],
  [
    'slots',
    'a capacity on a slot that counts references',
    (c) => {
      c.slots[3]!.capacity = 4;
    },
  ],
  [
    'slots',
    'a ttl on a plain slot',
    (c) => {
      c.slots[0]!.ttlMs = 50;
    },
  ],
  [
    'slots',
    'a ttl on a slot that counts references',
    (c) => {
      c.slots[3]!.ttlMs = 50;
    },
  ],
  [
    'slots',
    'a ttl below 0',
    (c) => {
      bounded(c).ttlMs = -1;
    },
  ],
  [
    'slots',
    'a ttl without end',
    (c) => {
      bounded(c).ttlMs = Number.POSITIVE_INFINITY;
    },
  ],
  [
    'slots',
    'a ttl that is no number',
    (c) => {
      bounded(c).ttlMs = Number.NaN;
    },
  ],
  [
    'chains',
    'more blocks than the capacity',
    (c) => {
      bounded(c).capacity = 2;
    },
  ],
  [
    'chains',
    'stamps on a plain slot',
    (c) => {
      c.chains[2]!.stamps.push([0, 0, 1, 0n, 0]);
    },
  ],
  [
    'chains',
    'stamps on a slot that counts references',
    (c) => {
      c.chains[0]!.stamps.push([4, 0, 3, 6n, 0]);
    },
  ],
  [
    'chains',
    'stamps of a slot that is not live',
    (c) => {
      c.chains[0]!.stamps.unshift([1, 0, 1, 0n, 0]);
    },
  ],
  [
    'chains',
    'stamps of a slot beyond all',
    (c) => {
      c.chains[0]!.stamps.push([9, 0, 1, 0n, 0]);
    },
  ],
  [
    'chains',
    'a bounded slot without stamps',
    (c) => {
      c.chains[0]!.stamps = [];
    },
  ],
  [
    'chains',
    'a block of a bounded slot without a stamp',
    (c) => {
      c.chains[0]!.stamps = [[3, 0, 1, 7n, 6.5]];
    },
  ],
  [
    'chains',
    'a stamp of a block that the slot does not hold',
    (c) => {
      c.chains[0]!.stamps = [[3, 0, 3, 7n, 6.5]];
    },
  ],
  [
    'chains',
    'a stamp of another block than the slot holds',
    (c) => {
      c.chains[1]!.stamps = [[3, 1, 2, 2n, 4]];
    },
  ],
  [
    'chains',
    'stamps that overlap',
    (c) => {
      c.chains[0]!.stamps = [
        [3, 0, 2, 7n, 6.5],
        [3, 1, 2, 5n, 6.5],
      ];
    },
  ],
  [
    'chains',
    'stamps out of order',
    (c) => {
      c.chains[0]!.stamps = [
        [3, 1, 2, 6n, 6.5],
        [3, 0, 1, 7n, 6.5],
      ];
    },
  ],
  [
    'chains',
    'stamps of nothing',
    (c) => {
      c.chains[0]!.stamps.push([3, 2, 2, 8n, 0]);
    },
  ],
  [
    'chains',
    'stamps from the end to the beginning',
    (c) => {
      c.chains[0]!.stamps = [[3, 2, 0, 7n, 6.5]];
    },
  ],
  [
    'chains',
    'stamps beyond the chain',
    (c) => {
      c.chains[1]!.stamps = [[3, 0, 3, 2n, 4]];
    },
  ],
  [
    'chains',
    'a stamp twice in one chain',
    (c) => {
      c.chains[0]!.stamps = [
        [3, 0, 1, 7n, 6.5],
        [3, 1, 2, 7n, 6.5],
      ];
    },
  ],
  [
    'chains',
    'a stamp twice in two chains',
    (c) => {
      c.chains[1]!.stamps[0]![3] = 7n;
    },
  ],
  [
    'chains',
    "a stamp in the middle of another chain's",
    (c) => {
      c.chains[1]!.stamps[0]![3] = 6n;
    },
  ],
  [
    'chains',
    'stamps that fall below 0',
    (c) => {
      c.chains[0]!.stamps[0]![3] = 0n;
    },
  ],
  [
    'chains',
    'a time that is no number',
    (c) => {
      c.chains[0]!.stamps[0]![4] = Number.NaN;
    },
  ],
  [
    'chains',
    'a time without end',
    (c) => {
      c.chains[0]!.stamps[0]![4] = Number.POSITIVE_INFINITY;
    },
  ],
  [
    'chains',
    'copies on a bounded slot',
    (c) => {
      c.chains[0]!.copies.unshift([3, 0, 1, 1]);
    },
  ],
  [
    'chains',
    'copies on a plain slot',
    (c) => {
      c.chains[0]!.copies.unshift([2, 0, 1, 1]);
    },
  ],
  [
    'chains',
    'copies on a slot that is not live',
    (c) => {
      c.chains[0]!.copies.unshift([1, 0, 1, 1]);
    },
  ],
  [
    'chains',
    'copies on a slot beyond all',
    (c) => {
      c.chains[0]!.copies.push([9, 0, 1, 1]);
    },
  ],
  [
    'chains',
    'copies of a block that the slot does not hold',
    (c) => {
      c.chains[1]!.copies.push([4, 0, 1, 1]);
    },
  ],
  [
    'chains',
    'copies of more than the slot holds',
    (c) => {
      c.chains[0]!.holders[4] = [4, 0, 2];
    },
  ],
  [
    'chains',
    'no further copies',
    (c) => {
      c.chains[0]!.copies[0]![3] = 0;
    },
  ],
  [
    'chains',
    'copies that overlap',
    (c) => {
      c.chains[0]!.copies.push([4, 2, 3, 1]);
    },
  ],
  [
    'chains',
    'copies out of order',
    (c) => {
      c.chains[0]!.copies.push([4, 0, 1, 1]);
    },
  ],
  [
    'chains',
    'copies beyond the chain',
    (c) => {
      c.chains[0]!.copies[0]![2] = 4;
    },
  ],
  [
    'chains',
    'copies of nothing',
    (c) => {
      c.chains[0]!.copies.push([4, 3, 3, 1]);
    },
  ],
  [
    'chains',
    'known stamps of some chains alone',
    (c) => {
      known(c)[2]!.stamps = [];
    },
  ],
  [
    'chains',
    'known stamps of some blocks of a chain alone',
    (c) => {
      known(c)[1]!.stamps.pop();
    },
  ],
  [
    'chains',
    'known stamps before those of slots',
    (c) => {
      known(c)[0]!.stamps.reverse();
    },
  ],
  [
    'chains',
    'known stamps that overlap',
    (c) => {
      known(c)[0]!.stamps.push([KNOWN, 2, 3, 1n, 0]);
    },
  ],
  [
    'chains',
    'known stamps beyond the chain',
    (c) => {
      known(c)[2]!.stamps[0]![2] = 2;
    },
  ],
  [
    'chains',
    'a known stamp twice',
    (c) => {
      known(c)[2]!.stamps[0]![3] = 7n;
    },
  ],
  [
    'chains',
    'known stamps that fall below 0',
    (c) => {
      known(c)[0]!.stamps[1]![3] = 1n;
    },
  ],
  [
    'chains',
    'a known stamp with a time',
    (c) => {
      known(c)[2]!.stamps[0]![4] = 5;
    },
  ],
  [
    'chains',
    'copies in the place of known stamps',
    (c) => {
      c.chains[2]!.copies.push([KNOWN, 0, 1, 1]);
    },
  ],
  [
    'chains',
    'an owner of an orphan, behind a chain that it owns',
    (c) => {
      c.chains[2] = { ...chain([30n, 31n]), kind: 2, owners: [[5, 2]] };
    },
  ],
  [
    'chains',
    'more holdings than the file can hold',
    (c) => {
      c.chains[2]!.claimed.holders = 2 ** 32 - 1;
    },
  ],
  [
    'chains',
    'more owners than the file can hold',
    (c) => {
      c.chains[2]!.claimed.owners = 2 ** 32 - 1;
    },
  ],
  [
    'chains',
    'more stamps than the file can hold',
    (c) => {
      c.chains[2]!.claimed.stamps = 2 ** 32 - 1;
    },
  ],
  [
    'chains',
    'more copies than the file can hold',
    (c) => {
      c.chains[2]!.claimed.copies = 2 ** 32 - 1;
    },
  ],
  [
    'chains',
    'one entry of copies that is missing',
    (c) => {
      c.chains[2]!.claimed.copies = 1;
    },
  ],
  [
    'counters',
    'a next stamp that a slot has already',
    (c) => {
      c.counters[NEXT_STAMP] = 7n;
    },
  ],
  [
    'counters',
    'a next stamp that a known block has already',
    (c) => {
      known(c);
      c.counters[NEXT_STAMP] = 8n;
    },
  ],
  [
    'counters',
    'a next stamp beyond all that are safe',
    (c) => {
      c.counters[NEXT_STAMP] = 2n ** 52n + 1n;
    },
  ],
  [
    'chains',
    'a stamp beyond all that are safe',
    (c) => {
      c.chains[0]!.stamps[0]![3] = 2n ** 60n;
    },
  ],
  [
    'chains',
    'the last of all stamps',
    (c) => {
      c.chains[0]!.stamps[0]![3] = 2n ** 64n - 1n;
      c.counters[NEXT_STAMP] = 0n;
    },
  ],
  [
    'counters',
    'a counter too few',
    (c) => {
      c.counters.pop();
    },
  ],
  [
    'counters',
    'a counter too many',
    (c) => {
      c.counters.push(0n);
    },
  ],
];

function bounded({ slots }: Content) {
  return slots[2]!;
}

/** The chains, after all their blocks got known stamps. */
function known(content: Content): Content['chains'] {
  giveKnownStamps(content);
  return content.chains;
}
