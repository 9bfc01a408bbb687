import { afterEach, describe, expect, type MockInstance, test, vi } from 'vitest';
import { KvIndex } from '../../src/index.js';
import { decodeSections, encodeSections } from '../../src/kv-index/section-file.js';
import { type Section, SNAPSHOT } from '../../src/kv-index/snapshot-file.js';
import { seam } from '../../src/native/index.js';
import { filled, hashes } from './support.js';

/*
 * Files with correct checksums that say something wrong. The right one has workers a (slot 0) and b (slot 1, rank 1,
 * cpu) and sessions s (1) and t (2).
 */

const WRONG: Record<'settings' | 'workers' | 'sessions', [what: string, json: string][]> = {
  settings: [
    ['null', 'null'],
    ['a number', '5'],
    ['a list', '[]'],
    ['an empty object', '{}'],
    ['another block size', '{"blockSize":25,"root":"0"}'],
    ['a block size that is a string', '{"blockSize":"24","root":"0"}'],
    ['a block size that is no primitive', '{"blockSize":{"toString":5,"valueOf":5},"root":"0"}'],
    ['another root', '{"blockSize":24,"root":"1"}'],
    ['a root that is a number', '{"blockSize":24,"root":0}'],
    ['no root', '{"blockSize":24}'],
  ],
  workers: [
    ['null', 'null'],
    ['a number', '5'],
    ['an object', '{"length":0}'],
    ['no workers', '[]'],
    ['a worker too few', '[[0,"a",0,"gpu"]]'],
    ['a worker too many', '[[0,"a",0,"gpu"],[1,"b",1,"cpu"],[2,"c",0,"gpu"]]'],
    ['a slot that the index has not', '[[0,"a",0,"gpu"],[9,"b",1,"cpu"]]'],
    ['two names on one slot', '[[0,"a",0,"gpu"],[0,"b",1,"cpu"]]'],
    ['two names on one slot, and all slots named', '[[0,"a",0,"gpu"],[1,"b",1,"cpu"],[1,"c",0,"gpu"]]'],
    ['one worker on two slots', '[[0,"a",0,"gpu"],[1,"a",0,"gpu"]]'],
    ['an entry that is a number', '[[0,"a",0,"gpu"],5]'],
    ['an entry that is null', '[[0,"a",0,"gpu"],null]'],
    ['an entry that is too short', '[[0,"a",0,"gpu"],[1]]'],
    ['an entry that is too long', '[[0,"a",0,"gpu"],[1,"b",1,"cpu",0]]'],
    ['a slot that is a string', '[[0,"a",0,"gpu"],["1","b",1,"cpu"]]'],
    ['a fraction of a slot', '[[0,"a",0,"gpu"],[1.5,"b",1,"cpu"]]'],
    ['a negative slot', '[[0,"a",0,"gpu"],[-1,"b",1,"cpu"]]'],
    ['a slot of 33 bits', '[[0,"a",0,"gpu"],[4294967297,"b",1,"cpu"]]'],
    ['a name that is a number', '[[0,"a",0,"gpu"],[1,5,1,"cpu"]]'],
    ['an empty name', '[[0,"a",0,"gpu"],[1,"",1,"cpu"]]'],
    ['half a character', '[[0,"a",0,"gpu"],[1,"\\ud800",1,"cpu"]]'],
    ['a rank that is null', '[[0,"a",0,"gpu"],[1,"b",null,"cpu"]]'],
    ['a rank that is too high', '[[0,"a",0,"gpu"],[1,"b",65536,"cpu"]]'],
    ['an unknown tier', '[[0,"a",0,"gpu"],[1,"b",1,"tape"]]'],
    ['a tier that is null', '[[0,"a",0,"gpu"],[1,"b",1,null]]'],
  ],
  sessions: [
    ['null', 'null'],
    ['a string', '"st"'],
    ['no sessions', '[]'],
    ['a session too few', '[["s",1]]'],
    ['a session too many', '[["s",1],["t",2],["u",3]]'],
    ['a number that the index has not', '[["s",1],["t",99]]'],
    ['two names with one number', '[["s",1],["t",1]]'],
    ['two names with one number, and all numbers named', '[["s",1],["t",2],["u",2]]'],
    ['one name with two numbers', '[["s",1],["s",2]]'],
    ['an entry that is a string', '[["s",1],"t2"]'],
    ['an entry that is too short', '[["s",1],["t"]]'],
    ['session 0', '[["s",1],["t",0]]'],
    ['a number that is a string', '[["s",1],["t","2"]]'],
    ['a number of 33 bits', '[["s",1],["t",4294967298]]'],
    ['a name that is null', '[["s",1],[null,2]]'],
    ['an empty name', '[["s",1],["",2]]'],
    ['half a character', '[["s",1],["\\udc00",2]]'],
  ],
};

const BROKEN_JSON: [what: string, bytes: Uint8Array][] = [
  ['nothing', new Uint8Array(0)],
  ['an open brace', Buffer.from('{')],
  ['text after the value', Buffer.from('[] 5')],
  ['a number that JSON has not', Buffer.from('NaN')],
  ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
];

const saved = new KvIndex();
filled(saved);
const right = decodeSections(SNAPSHOT, saved.snapshot());

function withSection(section: Section, payload: Uint8Array): Uint8Array {
  return encodeSections(SNAPSHOT, { ...right, [section]: payload });
}

/** Restoring is refused, naming the section; the index is as before and its handles live. */
function expectRefused(bytes: Uint8Array, section: Section): void {
  const index = new KvIndex();
  const mine = index.addWorker('mine');
  index.store(mine, hashes(5, 6));
  index.own('me', hashes(5));
  const before = index.snapshot();
  expect(() => index.restore(bytes)).toThrow(
    expect.objectContaining({
      code: 'ERR_KVIDX_BAD_SNAPSHOT',
      message: expect.stringMatching(`^snapshot section "${section}": .+; nothing was restored$`),
    }),
  );
  expect(index.snapshot()).toEqual(before);
  expect(index.workers()).toEqual([mine]);
  expect(index.residentBlocks(mine)).toBe(2);
  expect(index.endSession('me')).toBe(1);
  index.close();
}

test('the right file is taken', () => {
  const index = new KvIndex();
  index.restore(encodeSections(SNAPSHOT, right));
  expect(index.workers()).toMatchObject([
    { slot: 0, name: 'a', dpRank: 0, tier: 'gpu' },
    { slot: 1, name: 'b', dpRank: 1, tier: 'cpu' },
  ]);
  expect([index.endSession('s'), index.endSession('t')]).toEqual([3, 4]);
});

test('the order of workers and sessions in the file does not matter', () => {
  const index = new KvIndex();
  index.restore(
    encodeSections(SNAPSHOT, {
      ...right,
      workers: Buffer.from('[[1,"b",1,"cpu"],[0,"a",0,"gpu"]]'),
      sessions: Buffer.from('[["t",2],["s",1]]'),
    }),
  );
  expect(index.workers().map(({ name }) => name)).toEqual(['a', 'b']);
  expect([index.endSession('s'), index.endSession('t')]).toEqual([3, 4]);
});

describe.each(['settings', 'workers', 'sessions'] as const)(
  'a wrong section "%s" changes nothing',
  (section) => {
    test.each(WRONG[section])('%s', (_, json) => {
      expectRefused(withSection(section, Buffer.from(json)), section);
    });
    test.each(BROKEN_JSON)('JSON: %s', (_, bytes) => {
      expectRefused(withSection(section, bytes), section);
    });
  },
);

test('a wrong index changes nothing', () => {
  expectRefused(withSection('index', new Uint8Array(0)), 'index');
  expectRefused(withSection('index', right.index.subarray(1)), 'index');
});

test('the index of another snapshot changes nothing', () => {
  expectRefused(withSection('index', decodeSections(SNAPSHOT, new KvIndex().snapshot()).index), 'workers');
  const other = new KvIndex();
  filled(other);
  other.endSession('t');
  expectRefused(withSection('index', decodeSections(SNAPSHOT, other.snapshot()).index), 'sessions');
});

describe('a refused restore keeps no second index', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test.each([
    ['index', new Uint8Array(0)],
    ['workers', Buffer.from('[]')],
    ['sessions', Buffer.from('[]')],
  ] as const)('wrong section "%s"', (section, payload) => {
    const index = new KvIndex();
    const { createIndex } = seam;
    const closes: MockInstance[] = [];
    vi.spyOn(seam, 'createIndex').mockImplementation((options) => {
      const core = createIndex(options);
      closes.push(vi.spyOn(core, 'close'));
      return core;
    });
    expect(() => index.restore(withSection(section, payload))).toThrow();
    expect(closes.map((close) => close.mock.calls.length)).toEqual([1]);
  });
});
