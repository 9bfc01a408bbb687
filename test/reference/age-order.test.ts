import { expect, it } from 'vitest';
import { AgeOrder } from '../../src/reference/age-order.js';

it('keeps entries by age, the one that was set last at the end', () => {
  const order = new AgeOrder<string, number>();
  const entries = () => Array.from(order, ({ key, value }) => `${key}${value}`);
  for (const [i, key] of ['a', 'b', 'c', 'd'].entries()) order.set(key, i);
  order.set('a', 4);
  order.set('c', 5);
  order.set('c', 6);
  expect(entries()).toEqual(['b1', 'd3', 'a4', 'c6']);
  expect([order.delete('d'), order.delete('d')]).toEqual([true, false]);
  expect(order.delete('b')).toBe(true);
  expect([order.oldest?.key, order.size, order.get('a'), order.has('b')]).toEqual(['a', 2, 4, false]);
  for (const { key } of order) order.delete(key);
  expect([order.size, order.oldest]).toEqual([0, undefined]);
  order.set('e', 7);
  expect(entries()).toEqual(['e7']);
  order.clear();
  expect(entries()).toEqual([]);
});
