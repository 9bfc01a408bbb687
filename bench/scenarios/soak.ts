import { grouped } from '../../src/text.js';
import { nativeSeam } from '../backends.js';
import type { Figure } from '../figures.js';
import { runScenario } from '../harness.js';
import { Traffic } from '../traffic.js';

await runScenario('soak', ({ quick, check, progress }) => {
  const operations = quick ? 200_000 : 20_000_000;
  // Every cause of evictions has its share, and the bound of the index is always reached.
  const scale = quick ? 1 : 10;
  const sizes = {
    slots: 51 * scale,
    capacity: 800,
    maxBlocks: 24_000 * scale,
    sessions: 240 * scale,
    ttlMs: 3_000 * scale,
  };
  // The index is full by then, and of the age that it keeps.
  const warm = operations / 10;
  const sampleEvery = operations / 1_000;
  const validateEvery = operations / 20;

  const traffic = new Traffic(nativeSeam(), sizes);
  const { index } = traffic;
  const used: number[] = [];
  const reserved: number[] = [];
  const start = performance.now();
  while (traffic.operations < operations) {
    traffic.step();
    if (traffic.operations % sampleEvery === 0 && traffic.operations > warm) {
      const { usedBytes, reservedBytes, blocks } = index.stats();
      used.push(usedBytes);
      reserved.push(reservedBytes);
      traffic.checkBounds(blocks);
    }
    if (traffic.operations % validateEvery === 0) {
      const broken = index.validate();
      if (broken !== '') throw new Error(`after ${grouped(traffic.operations)} operations: ${broken}`);
      const { blocks, usedBytes } = index.stats();
      progress(
        `${grouped(traffic.operations)} operations, ${grouped(blocks)} blocks, ${grouped(usedBytes)} bytes used`,
      );
    }
  }
  const seconds = (performance.now() - start) / 1_000;
  const ended = index.validate();
  check(
    `${grouped(operations)} operations: validate finds ${ended || 'nothing'}, nor at 20 times before, and no bound is exceeded`,
    ended === '',
  );

  const stats = index.stats();
  return [
    { name: 'operations', value: operations, unit: 'operations' },
    { name: 'time', value: seconds, unit: 's' },
    { name: 'used: (max − min) ÷ mean', value: spread(used), unit: '', target: { atMost: 0.02 } },
    { name: 'used: mean of the last tenth ÷ of the first', value: drift(used), unit: 'x' },
    { name: 'reserved: (max − min) ÷ mean', value: spread(reserved), unit: '' },
    { name: 'reserved: mean of the last tenth ÷ of the first', value: drift(reserved), unit: 'x' },
    { name: 'used', value: mean(used), unit: 'bytes' },
    { name: 'reserved', value: mean(reserved), unit: 'bytes' },
    { name: 'blocks', value: stats.blocks, unit: 'blocks' },
    { name: 'evicted by capacity', value: stats.evictedByCapacity, unit: 'blocks' },
    { name: 'evicted by the bound of the index', value: stats.evictedByBound, unit: 'blocks' },
    { name: 'expired', value: stats.expired, unit: 'blocks' },
  ] satisfies Figure[];
});

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / mean(values);
}

function drift(values: readonly number[]): number {
  const tenth = Math.ceil(values.length / 10);
  return mean(values.slice(-tenth)) / mean(values.slice(0, tenth));
}
