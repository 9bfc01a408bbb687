import { describe, expect, test } from 'vitest';
import { KvIndex } from '../../src/index.js';
import { codeOf, filled, hashes, range } from './support.js';

/** Everything that a user can see of an index. */
function visible(index: KvIndex, sessions: string[], query: BigUint64Array) {
  return {
    workers: index.workers().map(({ name, dpRank, tier, slot }) => ({ name, dpRank, tier, slot })),
    residency: index.workers().map((worker) => index.enumerate(worker)),
    lastStores: index.stats().workers.map(({ lastStoreMs }) => lastStoreMs),
    overlap: index.overlap(query),
    set: index.overlap(query, { mode: 'set' }),
    fair: index.fairOverlap(query),
    exclusive: sessions.map((session) => index.exclusiveOverlap(session, query)),
    counts: (({ blocks, sessions, duplicates, unknownRemoves, rejected, orphans }) => ({
      blocks,
      sessions,
      duplicates,
      unknownRemoves,
      rejected,
      orphans,
    }))(index.stats()),
  };
}

test('a restored index answers as the one that was saved, and goes on from there', () => {
  const saved = new KvIndex({ sessionIdleMs: 5 });
  filled(saved);
  saved.addWorker('gap');
  saved.addWorker('idle', { tier: 'disk' });
  saved.removeWorker('gap');
  const seen = visible(saved, ['s', 't'], hashes(1, 2, 4, 5));
  const restored = new KvIndex({ sessionIdleMs: 5 });
  restored.store(restored.addWorker('other'), range(500, 9));
  restored.own('other', range(500, 9));
  restored.restore(Buffer.from(saved.snapshot()));
  expect(visible(restored, ['s', 't'], hashes(1, 2, 4, 5))).toEqual(seen);
  expect(restored.validate()).toBe('');
  expect(restored.endSession('other')).toBe(0);

  const a = restored.addWorker('a');
  expect(restored.residentBlocks(a)).toBe(3);
  restored.store(a, hashes(6), { parent: 3n });
  expect(restored.overlap(hashes(1, 2, 3, 6))[a.slot]).toBe(4);
  expect(restored.own('s', hashes(1, 2, 3, 6)).applied).toBe(1);
  expect(restored.endIdleSessions(25)).toEqual(['t']);
  expect(restored.validate()).toBe('');
});

test('restoring makes the handles of before stale', () => {
  const index = new KvIndex();
  const { a } = filled(index);
  index.restore(index.snapshot());
  expect(codeOf(() => index.store(a, hashes(1)))).toBe('ERR_KVIDX_UNKNOWN_WORKER');
  const again = index.addWorker('a');
  expect(again).not.toBe(a);
  expect(index.residentBlocks(again)).toBe(3);
});

test('restoring keeps to the bound on sessions', () => {
  const saved = new KvIndex();
  for (const i of [1, 2, 3, 4, 5]) saved.own(`s${i}`, hashes(i));
  saved.own('s1', hashes(1));
  const index = new KvIndex({ maxSessions: 2 });
  index.restore(saved.snapshot());
  expect(index.stats().sessions).toBe(2);
  expect(['s1', 's2', 's3', 's4', 's5'].map((name) => index.endSession(name))).toEqual([1, 0, 0, 0, 1]);
});

test('an empty index can be saved and restored', () => {
  const index = new KvIndex();
  filled(index);
  index.restore(new KvIndex().snapshot());
  expect(index.workers()).toEqual([]);
  expect(index.stats()).toMatchObject({ blocks: 0, sessions: 0, slots: 0 });
});

describe('a damaged snapshot changes nothing', () => {
  const saved = new KvIndex({ blockSize: 16 });
  filled(saved);
  const bytes = saved.snapshot();
  const target = new KvIndex({ blockSize: 16 });
  const worker = target.addWorker('mine');
  target.store(worker, hashes(5, 6));
  const before = target.snapshot();

  function refused(damaged: Uint8Array): string {
    let message = '';
    try {
      target.restore(damaged);
    } catch (error) {
      expect(error).toMatchObject({ code: 'ERR_KVIDX_BAD_SNAPSHOT' });
      message = (error as Error).message;
    }
    expect(target.residentBlocks(worker)).toBe(2);
    return message.match(/^snapshot section "(\w+)"/)?.[1] ?? 'none';
  }

  test('whichever byte is damaged, naming the first bad section in file order', () => {
    const sections: string[] = [];
    for (let at = 0; at < bytes.length; at++) {
      for (const flip of [0x01, 0x80, 0xff]) {
        const damaged = bytes.slice();
        damaged[at]! ^= flip;
        const section = refused(damaged);
        if (sections.at(-1) !== section) sections.push(section);
      }
    }
    expect(sections).toEqual(['magic', 'settings', 'workers', 'sessions', 'index']);
    expect(target.snapshot()).toEqual(before);
  });

  test('wherever it is cut off, or when something follows it', () => {
    for (let length = 0; length < bytes.length; length++) {
      expect(refused(bytes.subarray(0, length))).not.toBe('none');
    }
    expect(refused(Buffer.concat([bytes, Buffer.of(0)]))).toBe('end');
    expect(target.snapshot()).toEqual(before);
  });

  test('when a section comes from another snapshot', () => {
    const other = new KvIndex({ blockSize: 16 });
    const b = other.addWorker('b');
    other.store(b, hashes(9));
    const foreign = other.snapshot();
    const [ours, theirs] = [sections(bytes), sections(foreign)];
    expect(ours.map(([name]) => name)).toEqual(['magic', 'settings', 'workers', 'sessions', 'index']);
    for (let i = 2; i < ours.length; i++) {
      const mixed = ours.map(([, section], j) => (j === i ? theirs[i]![1] : section));
      expect(refused(Buffer.concat(mixed))).not.toBe('none');
    }
  });

  test('when its block size or namespace is another', () => {
    expect(refused(new KvIndex({ blockSize: 24 }).snapshot())).toBe('settings');
    expect(refused(new KvIndex({ blockSize: 16, namespace: { model: 'm' } }).snapshot())).toBe('settings');
  });
});

/** The parts of a snapshot file, each with its length and check. */
function sections(bytes: Uint8Array): [string, Uint8Array][] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 8;
  const rest = ['settings', 'workers', 'sessions', 'index'].map((name): [string, Uint8Array] => {
    const start = at;
    at += 16 + Number(view.getBigUint64(start, true));
    return [name, bytes.subarray(start, at)];
  });
  expect(at).toBe(bytes.length);
  return [['magic', bytes.subarray(0, 8)], ...rest];
}
