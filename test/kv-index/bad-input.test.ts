import { describe, expect, test } from 'vitest';
import { KvIndex, type WorkerHandle } from '../../src/index.js';
import { codeOf, filled, hashes } from './support.js';

const TYPE = 'ERR_KVIDX_INVALID_ARG_TYPE';
const RANGE = 'ERR_KVIDX_OUT_OF_RANGE';
const LENGTH = 'ERR_KVIDX_LENGTH_MISMATCH';
const WORKER = 'ERR_KVIDX_UNKNOWN_WORKER';
const SNAPSHOT = 'ERR_KVIDX_BAD_SNAPSHOT';
const CLOSED = 'ERR_KVIDX_CLOSED';
const CAPACITY = 'ERR_KVIDX_CAPACITY';

type Call = (index: KvIndex, worker: WorkerHandle) => unknown;

/** Every method with arguments that are right. */
const METHODS: Record<string, Call> = {
  blockSize: (index) => Reflect.get(KvIndex.prototype, 'blockSize', index),
  slotCount: (index) => Reflect.get(KvIndex.prototype, 'slotCount', index),
  membership: (index) => Reflect.get(KvIndex.prototype, 'membership', index),
  addWorker: (index) => KvIndex.prototype.addWorker.call(index, 'new'),
  removeWorker: (index, worker) => KvIndex.prototype.removeWorker.call(index, worker),
  workers: (index) => KvIndex.prototype.workers.call(index),
  setCapacity: (index, worker) => KvIndex.prototype.setCapacity.call(index, worker, 4),
  store: (index, worker) => KvIndex.prototype.store.call(index, worker, hashes(1)),
  remove: (index, worker) => KvIndex.prototype.remove.call(index, worker, hashes(1)),
  replace: (index, worker) => KvIndex.prototype.replace.call(index, worker, [{ seq: hashes(1) }]),
  refresh: (index, worker) => KvIndex.prototype.refresh.call(index, worker, hashes(1)),
  pin: (index, worker) => KvIndex.prototype.pin.call(index, worker, hashes(1)),
  unpin: (index, worker) => KvIndex.prototype.unpin.call(index, worker, hashes(1)),
  expire: (index) => KvIndex.prototype.expire.call(index),
  clear: (index, worker) => KvIndex.prototype.clear.call(index, worker),
  contains: (index) => KvIndex.prototype.contains.call(index, 1n),
  enumerate: (index, worker) => KvIndex.prototype.enumerate.call(index, worker),
  enumerateExclusive: (index, worker) => KvIndex.prototype.enumerateExclusive.call(index, worker, 's'),
  residentBlocks: (index, worker) => KvIndex.prototype.residentBlocks.call(index, worker),
  own: (index) => KvIndex.prototype.own.call(index, 's', hashes(1)),
  endSession: (index) => KvIndex.prototype.endSession.call(index, 's'),
  endIdleSessions: (index) => KvIndex.prototype.endIdleSessions.call(index),
  overlap: (index) => KvIndex.prototype.overlap.call(index, hashes(1)),
  overlapMany: (index) => KvIndex.prototype.overlapMany.call(index, [hashes(1)]),
  exclusiveOverlap: (index) => KvIndex.prototype.exclusiveOverlap.call(index, 's', hashes(1)),
  fairOverlap: (index) => KvIndex.prototype.fairOverlap.call(index, hashes(1)),
  exclusiveWithin: (index) =>
    KvIndex.prototype.exclusiveWithin.call(index, 's', hashes(1), Uint32Array.of(1)),
  fairWithin: (index) => KvIndex.prototype.fairWithin.call(index, hashes(1), Uint32Array.of(1)),
  lookupTokens: (index) => KvIndex.prototype.lookupTokens.call(index, [1]),
  explain: (index) => KvIndex.prototype.explain.call(index, { seqHashes: hashes(1) }),
  stats: (index) => KvIndex.prototype.stats.call(index),
  snapshot: (index) => KvIndex.prototype.snapshot.call(index),
  restore: (index) => KvIndex.prototype.restore.call(index, new KvIndex().snapshot()),
  compact: (index) => KvIndex.prototype.compact.call(index),
  validate: (index) => KvIndex.prototype.validate.call(index),
  dump: (index) => KvIndex.prototype.dump.call(index),
};
const TAKES_HANDLE = [
  ...['removeWorker', 'setCapacity', 'store', 'replace', 'refresh', 'pin', 'unpin', 'remove', 'clear'],
  ...['enumerate', 'enumerateExclusive', 'residentBlocks'],
];
const NO_STATE = ['close', 'closed', 'constructor'];

test('the matrix names every method', () => {
  const methods = Object.getOwnPropertyNames(KvIndex.prototype).filter((name) => !NO_STATE.includes(name));
  expect(Object.keys(METHODS).sort()).toEqual(methods.sort());
});

describe.each(Object.entries(METHODS))('%s', (name, call) => {
  test('works on an open index', () => {
    const index = new KvIndex();
    expect(() => call(index, index.addWorker('a'))).not.toThrow();
  });

  test('is refused on a closed index', () => {
    const index = new KvIndex();
    const worker = index.addWorker('a');
    index.close();
    expect(codeOf(() => call(index, worker))).toBe(CLOSED);
  });

  test('is refused on anything that is no index', () => {
    const worker = new KvIndex().addWorker('a');
    for (const foreign of [undefined, null, {}, Object.create(KvIndex.prototype), new Map()]) {
      expect(() => call(foreign as KvIndex, worker)).toThrow(TypeError);
      expect(codeOf(() => call(foreign as KvIndex, worker))).toBe(TYPE);
    }
  });

  test.runIf(TAKES_HANDLE.includes(name))('is refused with a stale or foreign handle', () => {
    const index = new KvIndex();
    const removed = index.addWorker('a');
    index.removeWorker(removed);
    index.addWorker('a');
    const other = new KvIndex().addWorker('a');
    const restored = index.addWorker('b');
    const copy = { ...restored } as WorkerHandle;
    index.store(index.addWorker('a'), hashes(1, 2));
    index.restore(index.snapshot());
    const before = index.snapshot();
    for (const handle of [removed, other, restored]) expect(codeOf(() => call(index, handle))).toBe(WORKER);
    for (const no of [undefined, null, 0, {}, copy] as unknown as WorkerHandle[]) {
      expect(codeOf(() => call(index, no))).toBe(TYPE);
    }
    expect(index.snapshot()).toEqual(before);
  });
});

test('close is idempotent, and refused on anything that is no index', () => {
  const index = new KvIndex();
  expect(index.closed).toBe(false);
  index.close();
  index.close();
  index[Symbol.dispose]();
  expect(index.closed).toBe(true);
  expect(codeOf(() => KvIndex.prototype.close.call({} as KvIndex))).toBe(TYPE);
  expect(codeOf(() => Reflect.get(KvIndex.prototype, 'closed', {}))).toBe(TYPE);
});

test('membership rises whenever a worker joins or leaves, and at restore', () => {
  const index = new KvIndex();
  const seen = [index.membership];
  const noted = (call: () => unknown) => {
    call();
    seen.push(index.membership);
  };
  noted(() => index.addWorker('a'));
  noted(() => index.removeWorker('a'));
  noted(() => index.restore(index.snapshot()));
  expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
  const { membership } = index;
  index.store(index.addWorker('b'), hashes(1));
  index.addWorker('b');
  expect(index.membership).toBe(membership + 1);
});

/** Wrong values for every argument that takes hashes. */
const BAD_HASHES: [string, unknown, string][] = [
  ['a plain array', [1n, 2n], TYPE],
  ['another dtype', Uint32Array.of(1), TYPE],
  ['signed hashes', BigInt64Array.of(1n), TYPE],
  ['doubles', Float64Array.of(Number.NaN), TYPE],
  ['nothing', undefined, TYPE],
  ['null', null, TYPE],
  ['a string', '12', TYPE],
  ['an array-like', { length: 1, 0: 1n }, TYPE],
  ['a detached buffer', detached(BigUint64Array.of(1n)), TYPE],
  ['a shared buffer', new BigUint64Array(new SharedArrayBuffer(8)), TYPE],
];

describe.each(BAD_HASHES)('hashes given as %s', (_, value, code) => {
  const seq = value as BigUint64Array;
  test('are refused everywhere, and change nothing', () => {
    unchanged((index, worker) => [
      [code, () => index.store(worker, seq)],
      [code, () => index.replace(worker, [{ seq }])],
      [code, () => index.replace(worker, [{ seq: hashes(1) }, { seq }])],
      [code, () => index.refresh(worker, seq)],
      [code, () => index.pin(worker, seq)],
      [code, () => index.unpin(worker, seq)],
      [code, () => index.remove(worker, seq)],
      [code, () => index.own('s', seq)],
      [code, () => index.overlap(seq)],
      [code, () => index.overlapMany([hashes(1), seq])],
      [code, () => index.exclusiveOverlap('s', seq)],
      [code, () => index.fairOverlap(seq)],
      [code, () => index.exclusiveWithin('s', seq, Uint32Array.of(0))],
      [code, () => index.fairWithin(seq, Uint32Array.of(0))],
      [code, () => index.explain({ seqHashes: seq })],
    ]);
  });
});

test('tokens must be u32 in attached, unshared memory', () => {
  const bad: [unknown, string][] = [
    [[-1], RANGE],
    [[2 ** 32], RANGE],
    [[1.5], RANGE],
    [[Number.NaN], RANGE],
    [['1'], TYPE],
    [[1n], TYPE],
    [new Array(3), TYPE],
    [Int32Array.of(1), TYPE],
    [BigUint64Array.of(1n), TYPE],
    ['abc', TYPE],
    [undefined, TYPE],
    [detached(Uint32Array.of(1)), TYPE],
    [new Uint32Array(new SharedArrayBuffer(8)), TYPE],
  ];
  unchanged((index) =>
    bad.flatMap(([tokens, code]) => [
      [code, () => index.lookupTokens(tokens as number[])],
      [code, () => index.explain({ tokens: tokens as number[] })],
    ]),
  );
});

test('single hashes must fit 64 bits and must not have lost bits', () => {
  const bad: [unknown, string][] = [
    [2n ** 64n, RANGE],
    [-(2n ** 63n) - 1n, RANGE],
    [2 ** 53, RANGE],
    [1.5, RANGE],
    [Number.NaN, RANGE],
    ['1', TYPE],
    [null, TYPE],
    [{}, TYPE],
  ];
  unchanged((index, worker) =>
    bad.flatMap(([hash, code]) => [
      [code, () => index.contains(hash as bigint)],
      [code, () => index.store(worker, hashes(50), { parent: hash as bigint })],
      [code, () => index.replace(worker, [{ seq: hashes(50), parent: hash as bigint }])],
    ]),
  );
  unchanged((index) => [[TYPE, () => index.contains(undefined as unknown as bigint)]]);
});

test('times must be finite milliseconds', () => {
  const bad: [unknown, string][] = [
    [Number.NaN, RANGE],
    [-1, RANGE],
    [Number.POSITIVE_INFINITY, RANGE],
    [1n, TYPE],
    ['1', TYPE],
    [new Date(), TYPE],
  ];
  unchanged((index, worker) =>
    bad.flatMap(([time, code]) => {
      const nowMs = time as number;
      return [
        [code, () => index.store(worker, hashes(1), { nowMs })],
        [code, () => index.replace(worker, [{ seq: hashes(1) }], { nowMs })],
        [code, () => index.refresh(worker, hashes(1), { nowMs })],
        [code, () => index.expire(nowMs)],
        [code, () => index.setCapacity(worker, 9, { ttlMs: nowMs })],
        [code, () => index.addWorker('x', { capacity: 9, ttlMs: nowMs })],
        [code, () => index.own('s', hashes(1), { nowMs })],
        [code, () => index.endIdleSessions(nowMs)],
        [code, () => index.explain({ seqHashes: hashes(1) }, { nowMs })],
      ];
    }),
  );
});

test('lengths must be u32 in attached, unshared memory, and within the hashes', () => {
  const bad: [unknown, string][] = [
    [Uint32Array.of(0, 3), RANGE],
    [Uint32Array.of(2 ** 32 - 1), RANGE],
    [[1], TYPE],
    [1, TYPE],
    [undefined, TYPE],
    [Int32Array.of(1), TYPE],
    [Float64Array.of(1), TYPE],
    [detached(Uint32Array.of(1)), TYPE],
    [new Uint32Array(new SharedArrayBuffer(8)), TYPE],
  ];
  unchanged((index) =>
    bad.flatMap(([value, code]) => {
      const lengths = value as Uint32Array;
      return [
        [code, () => index.exclusiveWithin('s', hashes(1, 2), lengths)],
        [code, () => index.fairWithin(hashes(1, 2), lengths)],
      ];
    }),
  );
  const index = new KvIndex();
  const ask = () => index.fairWithin(hashes(1, 2), Uint32Array.of(2, 0, 3));
  expect(ask).toThrow(/^lengths\[2\] must be at most the 2 hashes given, got 3/);
});

test('names, ranks and tiers are checked; an unknown tier is never taken for gpu', () => {
  unchanged((index, worker) => [
    [TYPE, () => index.addWorker(7 as unknown as string)],
    [RANGE, () => index.addWorker('')],
    [RANGE, () => index.addWorker('\ud800')],
    [RANGE, () => index.addWorker('x', { tier: 'GPU' as 'gpu' })],
    [RANGE, () => index.addWorker('x', { tier: 'nvme' as 'gpu' })],
    [TYPE, () => index.addWorker('x', { tier: null as unknown as 'gpu' })],
    [RANGE, () => index.addWorker('x', { dpRank: -1 })],
    [RANGE, () => index.addWorker('x', { dpRank: 0.5 })],
    [RANGE, () => index.addWorker('x', { dpRank: 65_536 })],
    [TYPE, () => index.addWorker('x', { dpRank: '0' as unknown as number })],
    [TYPE, () => index.addWorker('x', null as unknown as object)],
    [TYPE, () => index.addWorker('x', 'gpu' as unknown as object)],
    [WORKER, () => index.removeWorker('nobody')],
    [RANGE, () => index.own('', hashes(1))],
    [TYPE, () => index.own(1 as unknown as string, hashes(1))],
    [TYPE, () => index.endSession(undefined as unknown as string)],
    [RANGE, () => index.enumerateExclusive(worker, '')],
    [TYPE, () => index.enumerate(worker, { sorted: 'no' as never })],
    [TYPE, () => index.exclusiveOverlap(null as unknown as string, hashes(1))],
    [TYPE, () => index.exclusiveWithin(null as unknown as string, hashes(1), Uint32Array.of(1))],
    [RANGE, () => index.lookupTokens([1], { session: '' })],
  ]);
});

test('capacities and reference counts are checked, together too', () => {
  const bad: [unknown, string][] = [
    [0, RANGE],
    [-1, RANGE],
    [1.5, RANGE],
    [2 ** 32, RANGE],
    [Number.NaN, RANGE],
    [Number.POSITIVE_INFINITY, RANGE],
    [1n, TYPE],
    ['1', TYPE],
    [null, TYPE],
  ];
  unchanged((index, worker) =>
    bad.flatMap(([blocks, code]) => [
      [code, () => index.addWorker('x', { capacity: blocks as number })],
      [code, () => index.setCapacity(worker, blocks as number)],
    ]),
  );
  unchanged((index, worker) => [
    [TYPE, () => index.setCapacity(worker, undefined as unknown as number)],
    [TYPE, () => index.setCapacity(worker, 1, null as unknown as object)],
    [RANGE, () => index.addWorker('x', { ttlMs: 5 })],
    [RANGE, () => index.addWorker('x', { capacity: 5, referenceCounts: true })],
    [TYPE, () => index.addWorker('x', { referenceCounts: 1 as unknown as boolean })],
    [TYPE, () => index.addWorker('x', { referenceCounts: null as unknown as boolean })],
    [CAPACITY, () => index.addWorker('a', { capacity: 5 })],
    [CAPACITY, () => index.addWorker('a', { referenceCounts: true })],
    [CAPACITY, () => index.setCapacity(worker, 5)],
  ]);
});

test('a full report must be an array of chains', () => {
  const report = (value: unknown) => value as { seq: BigUint64Array }[];
  unchanged((index, worker) => [
    [TYPE, () => index.replace(worker, report(undefined))],
    [TYPE, () => index.replace(worker, report(null))],
    [TYPE, () => index.replace(worker, report({ seq: hashes(1) }))],
    [TYPE, () => index.replace(worker, report(hashes(1)))],
    [TYPE, () => index.replace(worker, report(new Set()))],
    [TYPE, () => index.replace(worker, report([hashes(1)]))],
    [TYPE, () => index.replace(worker, report([null]))],
    [TYPE, () => index.replace(worker, report([{ seq: hashes(1) }, undefined]))],
    [TYPE, () => index.replace(worker, report(new Array(2 ** 32 - 1)))],
    [TYPE, () => index.replace(worker, report([{}]))],
    [TYPE, () => index.replace(worker, [], null as unknown as object)],
  ]);
});

test('a wrong chain is named by its place in the report', () => {
  const index = new KvIndex();
  const worker = index.addWorker('a');
  const replace = (chain: object) => () =>
    index.replace(worker, [{ seq: hashes(1) }, chain as { seq: BigUint64Array }]);
  expect(replace({ seq: [1n] })).toThrow(/^chains\[1\]\.seq must be/);
  expect(replace({ seq: hashes(2), parent: '3' })).toThrow(/^chains\[1\]\.parent must be/);
  expect(replace([] as object)).toThrow(/^chains\[1\]\.seq must be/);
  expect(replace(7 as unknown as object)).toThrow(/^chains\[1\] must be an object/);
});

test('modes, owners and outputs are checked', () => {
  unchanged((index) => [
    [RANGE, () => index.overlap(hashes(1), { mode: 'all' as 'set' })],
    [TYPE, () => index.overlap(hashes(1), { mode: 1 as unknown as 'set' })],
    [RANGE, () => index.exclusiveOverlap('s', hashes(1), { maxOwners: 0 })],
    [RANGE, () => index.exclusiveOverlap('s', hashes(1), { maxOwners: 1.5 })],
    [RANGE, () => index.exclusiveOverlap('s', hashes(1), { maxOwners: 2 ** 32 })],
    [RANGE, () => index.lookupTokens([1], { session: 's', maxOwners: Number.NaN })],
    [LENGTH, () => index.overlap(hashes(1), { out: new Uint32Array(1) })],
    [LENGTH, () => index.overlap(hashes(1), { out: new Uint32Array(3) })],
    [TYPE, () => index.overlap(hashes(1), { out: [] as unknown as Uint32Array })],
    [TYPE, () => index.overlap(hashes(1), { out: new Float64Array(2) as unknown as Uint32Array })],
    [TYPE, () => index.overlap(hashes(1), { out: detached(new Uint32Array(2)) })],
    [TYPE, () => index.overlap(hashes(1), { out: new Uint32Array(new SharedArrayBuffer(8)) })],
    [RANGE, () => index.overlapMany([], { mode: 'all' as 'set' })],
    [TYPE, () => index.overlapMany(hashes(1) as unknown as BigUint64Array[])],
    [TYPE, () => index.overlapMany({ length: 1, 0: hashes(1) } as unknown as BigUint64Array[])],
    [TYPE, () => index.overlapMany(new Array(1))],
    [LENGTH, () => index.overlapMany([hashes(1)], { out: new Uint32Array(1) })],
    [LENGTH, () => index.overlapMany([], { out: new Uint32Array(2) })],
    [TYPE, () => index.overlapMany([hashes(1)], { out: new Float64Array(2) as unknown as Uint32Array })],
    [TYPE, () => index.fairOverlap(hashes(1), { out: new Uint32Array(2) as unknown as Float64Array })],
    [LENGTH, () => index.fairOverlap(hashes(1), { out: new Float64Array(1) })],
    [RANGE, () => index.exclusiveWithin('s', hashes(1), Uint32Array.of(1), { maxOwners: 0 })],
    [LENGTH, () => index.exclusiveWithin('s', hashes(1), Uint32Array.of(1), { out: new Uint32Array(2) })],
    [LENGTH, () => index.fairWithin(hashes(1), Uint32Array.of(1), { out: new Float64Array(0) })],
    [TYPE, () => index.fairWithin(hashes(1), Uint32Array.of(1), { out: [0] as unknown as Float64Array })],
    [TYPE, () => index.exclusiveWithin('s', hashes(1), Uint32Array.of(1), null as unknown as object)],
    [TYPE, () => index.lookupTokens([1], { namespace: 'm' as unknown as object })],
    [RANGE, () => index.lookupTokens([1], { namespace: { model: '' } })],
    [RANGE, () => index.lookupTokens([1], { extraKeys: new Map([[0, [1n]]]) })],
    [TYPE, () => index.explain(undefined as unknown as { tokens: number[] })],
    [TYPE, () => index.explain({} as { tokens: number[] })],
  ]);
});

test('options of the constructor are checked', () => {
  const bad: [unknown, string][] = [
    [{ blockSize: 0 }, RANGE],
    [{ blockSize: 4097 }, RANGE],
    [{ blockSize: 1.5 }, RANGE],
    [{ blockSize: Number.NaN }, RANGE],
    [{ blockSize: '24' }, TYPE],
    [{ maxSessions: 0 }, RANGE],
    [{ maxSessions: -1 }, RANGE],
    [{ maxSessions: 2 ** 32 }, RANGE],
    [{ sessionIdleMs: -1 }, RANGE],
    [{ sessionIdleMs: Number.NaN }, RANGE],
    [{ maxBlocks: 0 }, RANGE],
    [{ maxBlocks: 1.5 }, RANGE],
    [{ maxBlocks: 2 ** 32 }, RANGE],
    [{ maxBlocks: Number.POSITIVE_INFINITY }, RANGE],
    [{ maxBlocks: null }, TYPE],
    [{ maxBlocks: 5n }, TYPE],
    [{ evictedHistory: -1 }, RANGE],
    [{ evictedHistory: 0.5 }, RANGE],
    [{ evictedHistory: 1_000_001 }, RANGE],
    [{ evictedHistory: true }, TYPE],
    [{ evictedHistory: null }, TYPE],
    [{ namespace: { lora: '' } }, RANGE],
    [{ namespace: { colour: 'x' } }, RANGE],
    [null, TYPE],
    [24, TYPE],
  ];
  for (const [options, code] of bad) expect(codeOf(() => new KvIndex(options as object))).toBe(code);
  for (const options of [
    { maxBlocks: undefined },
    { maxBlocks: 2 ** 32 - 1 },
    { evictedHistory: 1_000_000 },
  ]) {
    expect(new KvIndex(options).stats()).toMatchObject({ blocks: 0 });
  }
});

test('snapshots must be attached bytes', () => {
  unchanged((index) => [
    [TYPE, () => index.restore('snapshot' as unknown as Uint8Array)],
    [TYPE, () => index.restore([1] as unknown as Uint8Array)],
    [TYPE, () => index.restore(new Uint16Array(4) as unknown as Uint8Array)],
    [TYPE, () => index.restore(detached(new Uint8Array(4)))],
    [SNAPSHOT, () => index.restore(new Uint8Array(0))],
  ]);
});

/** Each call throws its code, and together they leave the state as it was. */
function unchanged(
  calls: (index: KvIndex, worker: WorkerHandle) => (readonly [string, () => unknown])[],
): void {
  const index = new KvIndex();
  const { a } = filled(index);
  const before = index.snapshot();
  for (const [code, call] of calls(index, a)) expect(codeOf(call), call.toString()).toBe(code);
  expect(index.snapshot()).toEqual(before);
}

function detached<T extends NodeJS.TypedArray>(array: T): T {
  structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });
  return array;
}
