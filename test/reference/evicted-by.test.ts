import { expect, it } from 'vitest';
import { Handy } from './handy.js';

it('tells why a slot lost a block, until the block comes back', () => {
  const x = new Handy({ maxBlocks: 4, evictedHistory: 100 });
  const slot = x.boundedSlot(2, 10);
  const [plain] = x.slots(1) as [number];
  x.store(slot, [1, 2], undefined, 0);
  x.store(slot, [3], undefined, 0);
  expect([1, 2, 3].map((hash) => x.evictedBy(slot, hash))).toEqual(['none', 'capacity', 'none']);
  x.index.expire(10);
  expect([1, 2, 3].map((hash) => x.evictedBy(slot, hash))).toEqual(['ttl', 'capacity', 'ttl']);
  x.store(slot, [1, 2], undefined, 20);
  expect([1, 2, 3].map((hash) => x.evictedBy(slot, hash))).toEqual(['none', 'none', 'ttl']);
  x.store(plain, [11, 12, 13]);
  expect([1, 2].map((hash) => x.evictedBy(slot, hash))).toEqual(['none', 'bound']);
  expect(x.evictedBy(plain, 2)).toBe('none');
});

it('remembers no block that came with the call and did not stay, and none that was removed', () => {
  const x = new Handy({ evictedHistory: 100 });
  const slot = x.boundedSlot(2);
  x.store(slot, [1, 2, 3]);
  x.remove(slot, [2]);
  expect([1, 2, 3].map((hash) => x.evictedBy(slot, hash))).toEqual(['none', 'none', 'none']);
});

it('remembers the latest evictions, in the order in which blocks went', () => {
  const x = new Handy({ evictedHistory: 2 });
  const slot = x.boundedSlot(3);
  x.store(slot, [1, 2, 3]);
  x.store(slot, [10, 11, 12]);
  expect([1, 2, 3].map((hash) => x.evictedBy(slot, hash))).toEqual(['capacity', 'capacity', 'none']);
  x.setCapacity(slot, 2);
  expect([1, 2, 12].map((hash) => x.evictedBy(slot, hash))).toEqual(['capacity', 'none', 'capacity']);
});

it('forgets with a life of a slot, but not when the slot is cleared', () => {
  const x = new Handy({ evictedHistory: 100 });
  const slot = x.boundedSlot(1);
  const other = x.boundedSlot(1);
  for (const hash of [1, 2]) {
    x.store(slot, [hash]);
    x.store(other, [hash]);
  }
  x.clear(slot);
  expect(x.evictedBy(slot, 1)).toBe('capacity');
  x.index.removeSlot(slot, 1);
  x.index.addSlot();
  expect([x.evictedBy(slot, 1), x.evictedBy(other, 1)]).toEqual(['none', 'capacity']);
  expect(x.index.restore(x.index.snapshot())).toBe('');
  expect(x.evictedBy(other, 1)).toBe('none');
});

it('remembers nothing where it is off', () => {
  const x = new Handy();
  const slot = x.boundedSlot(1);
  x.store(slot, [1]);
  x.store(slot, [2]);
  expect(x.evictedBy(slot, 1)).toBe('none');
});
