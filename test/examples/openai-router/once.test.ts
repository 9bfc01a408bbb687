import { expect, it } from 'vitest';
import { once } from '../../../examples/openai-router/once.js';
import { until } from './router-support.js';

it('what is told again and again is told once, and what changes at once', () => {
  const told: string[] = [];
  const tell = once((text) => told.push(text));
  for (const text of ['refused', 'refused', 'no such host', 'refused', 'no such host']) tell(text);
  expect(told).toEqual(['refused', 'no such host']);
});

it('what has been away for a while is told again', async () => {
  const told: string[] = [];
  const tell = once((text) => told.push(text), 1);
  tell('refused');
  await until('it is told again', () => {
    tell('refused');
    return told.length === 2;
  });
});
