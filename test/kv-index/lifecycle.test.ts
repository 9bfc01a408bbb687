import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { backend, KvIndex } from '../../src/index.js';
import { hashes } from './support.js';

const run = promisify(execFile);

test('an index is freed by `using` semantics, and its answers outlive it', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  index.store(a, hashes(1, 2));
  const overlap = index.overlap(hashes(1, 2));
  const listed = index.enumerate(a);
  const bytes = index.snapshot();
  index[Symbol.dispose]();
  expect([...overlap]).toEqual([2]);
  expect(listed).toEqual(hashes(1, 2));
  const other = new KvIndex();
  other.restore(bytes);
  expect(other.residentBlocks(other.addWorker('a'))).toBe(2);
});

/** The addon alone, in threads and processes that have no TypeScript. */
describe.runIf(backend().name === 'native')('the addon', () => {
  const use = `
    const addon = require(${JSON.stringify(backend().path)});
    function fill(blocks) {
      const index = addon.createIndex({ maxSessions: 10, maxBlocks: 0, evictedHistory: 0 });
      const slot = index.addSlot();
      const seq = BigUint64Array.from({ length: blocks }, (_, i) => BigInt(i + 1));
      index.store(slot, index.incarnation(slot), seq, undefined, 1, new Float64Array(8));
      index.own(0, seq, 1, new Float64Array(8));
      const out = new Uint32Array(1);
      index.overlap(seq, 0, out);
      return { index, blocks: out[0] };
    }`;

  test('works in several threads at once, each with its own state', async () => {
    const threads = [1000, 2000, 3000, 4000].map(
      (blocks) =>
        new Worker(`${use} require('worker_threads').parentPort.postMessage(fill(${blocks}).blocks)`, {
          eval: true,
        }),
    );
    const answers = await Promise.all(threads.map((thread) => once(thread, 'message')));
    expect(answers.flat()).toEqual([1000, 2000, 3000, 4000]);
    await Promise.all(threads.map((thread) => thread.terminate()));
    const index = new KvIndex();
    index.store(index.addWorker('a'), hashes(1));
    expect([...index.overlap(hashes(1))]).toEqual([1]);
  });

  test('survives a thread that is stopped in the middle of its work', async () => {
    const thread = new Worker(
      `${use} for (let i = 0; ; i++) { fill(100); if (i === 5) require('worker_threads').parentPort.postMessage('busy'); }`,
      { eval: true },
    );
    await once(thread, 'message');
    await thread.terminate();
    expect(new KvIndex().slotCount).toBe(0);
  });

  test('lets a process end with open indexes', async () => {
    const { stdout } = await run(process.execPath, [
      '-e',
      `${use} globalThis.kept = fill(5000); console.log(kept.blocks);`,
    ]);
    expect(stdout.trim()).toBe('5000');
  });

  test('frees indexes that nobody closed and nobody holds', async () => {
    const { stdout } = await run(process.execPath, [
      '--expose-gc',
      '-e',
      `${use}
      const megabytes = () => process.memoryUsage().rss / 2 ** 20;
      (async () => {
        for (let i = 0; i < 10; i++) fill(100_000);
        const before = megabytes();
        for (let i = 0; i < 150; i++) {
          fill(100_000);
          gc();
          await new Promise(setImmediate); // finalizers run between tasks
        }
        console.log(Math.round(megabytes() - before));
      })();`,
    ]);
    expect(Number(stdout)).toBeLessThan(150);
  });

  test('keeps methods usable that outlive their object, and refuses them after close', async () => {
    const { stdout } = await run(process.execPath, [
      '--expose-gc',
      '-e',
      `${use}
      const { slotCount, close } = fill(10).index;
      gc();
      console.log(slotCount());
      close();
      try { slotCount(); } catch (error) { console.log(error.code); }`,
    ]);
    expect(stdout.trim().split('\n')).toEqual(['1', 'ERR_KVIDX_CLOSED']);
  });

  test('checks dtypes, lengths and numbers itself', async () => {
    const { stdout } = await run(process.execPath, [
      '-e',
      `${use}
      const { index } = fill(10);
      const seq = new BigUint64Array(1);
      const result = new Float64Array(8);
      const calls = [
        () => index.overlap(seq, 0, new Uint32Array(2)),
        () => index.overlap(seq, 2, new Uint32Array(1)),
        () => index.overlap([1n], 0, new Uint32Array(1)),
        () => index.overlap(seq, 0, new Int32Array(1)),
        () => index.overlap(),
        () => index.store(0, 0, seq, 2n ** 64n, 1, result),
        () => index.store(0, 0, seq, undefined, 1, new Float64Array(7)),
        () => index.store(-1, 0, seq, undefined, 1, result),
        () => index.enumerate(1, true),
        () => index.contains(-1n),
        () => index.restore('x'),
        () => index.pin(0, 1, seq, new Float64Array(7)),
        () => index.unpin(0, 1, new Uint32Array(1), result),
        () => index.refresh(0, 1, [1n], 1, result),
        () => index.setCapacity(0, 1, 0, 0, result),
        () => index.slotFigures(1, new Float64Array(10)),
        () => index.evictedBy(1, 1n),
        () => index.replace(0, 1, seq, [1], new Uint8Array(1), seq, 1, result),
        () => index.replace(0, 1, seq, Uint32Array.of(2), new Uint8Array(1), seq, 1, result),
        () => index.replace(0, 1, seq, Uint32Array.of(1), Uint8Array.of(9), seq, 1, result),
        () => index.replace(0, 1, seq, Uint32Array.of(1), new Uint8Array(2), seq, 1, result),
        () => index.exclusiveWithin(1, seq, 1, Uint32Array.of(2), new Uint32Array(1)),
        () => index.exclusiveWithin(1, seq, 0, Uint32Array.of(1), new Uint32Array(1)),
        () => index.exclusiveWithin(1, seq, 1, Uint32Array.of(1), new Uint32Array(2)),
        () => index.exclusiveWithin(1, seq, 1, [1], new Uint32Array(1)),
        () => index.fairWithin(seq, Uint32Array.of(0, 2), new Float64Array(2)),
        () => index.fairWithin(seq, Uint32Array.of(1), new Uint32Array(1)),
        () => index.fairWithin(seq, Uint32Array.of(1), new Float64Array(0)),
        () => index.enumerateExclusive(1, 1),
        () => index.enumerateExclusive(0, -1),
        () => addon.createIndex(),
        () => addon.createIndex({}),
      ];
      for (const call of calls) { try { call(); console.log('no error'); } catch (error) { console.log(error.code); } }`,
    ]);
    const type = 'ERR_KVIDX_INVALID_ARG_TYPE';
    const range = 'ERR_KVIDX_OUT_OF_RANGE';
    const length = 'ERR_KVIDX_LENGTH_MISMATCH';
    expect(stdout.trim().split('\n')).toEqual([
      ...[length, range, type, type, type],
      ...[range, length, range, range, range],
      type,
      ...[length, type, type, range, range, range],
      ...[type, range, range, range],
      ...[range, range, length, type, range, type, length, range, range],
      ...[type, type],
    ]);
  });
});
