import { describe, expect, it } from 'vitest';
import { seam } from '../../src/native/index.js';
import { ROW, ROW_LENGTH } from '../../src/native/seam.js';
import { Random } from '../../src/random.js';
import { scanTraceRow } from '../../src/reference/trace-row.js';

interface Scan {
  place: number[];
  ids: bigint[];
}

function scan(scanner: typeof scanTraceRow, text: string, room = 64, before = '', after = ''): Scan {
  const bytes = Buffer.from(before + text + after);
  const start = Buffer.byteLength(before);
  const ids = new BigUint64Array(room);
  const row = new Int32Array(ROW_LENGTH);
  scanner(bytes, start, start + Buffer.byteLength(text), ids, row);
  return { place: [...row], ids: [...ids.subarray(0, Math.max(0, row[ROW.ids]!))] };
}

const backends = [
  ['backend in use', seam.scanTraceRow],
  ['TypeScript twin', scanTraceRow],
] as const;

describe.each(backends)('scanTraceRow of the %s', (_, scanner) => {
  it('reads ids beyond 2^53 exactly, negative ones in two’s complement', () => {
    const text =
      '{"hash_ids":[9007199254740992, 9007199254740993,18446744073709551615,-1,-9223372036854775808,0,-0]}';
    expect(scan(scanner, text).ids).toEqual([
      2n ** 53n,
      2n ** 53n + 1n,
      2n ** 64n - 1n,
      2n ** 64n - 1n,
      2n ** 63n,
      0n,
      0n,
    ]);
  });

  it('keeps 1 and 2^32 + 1 apart', () => {
    expect(scan(scanner, '{"hash_ids":[1,4294967297]}').ids).toEqual([1n, 2n ** 32n + 1n]);
  });

  it.each(['', ' ', '\t \r\n'])('reads numbers of every width, parted by a comma and %j', (space) => {
    const ids = Array.from({ length: 20 }, (_, i) => 10n ** BigInt(i));
    const text = `{"hash_ids":[${space}${ids.join(`${space},${space}`)}${space}]}`;
    expect(scan(scanner, text).ids).toEqual(ids);
    expect(scan(scanner, text.replaceAll('1', '9').replace(/9(0{19})/, '1$1')).ids.slice(0, 19)).toEqual(
      ids.slice(0, 19).map((id) => id * 9n),
    );
  });

  it('finds the outermost member only', () => {
    const text =
      '{"a":{"hash_ids":[1]},"b":[{"hash_ids":[2]}],"c":"\\"hash_ids\\":[3]","hash_ids":[4],"d":{"hash_ids":[5]}}';
    const { place, ids } = scan(scanner, text, 64, 'before', 'after');
    expect(ids).toEqual([4n]);
    expect(text.slice(place[ROW.arrayStart]! - 6, place[ROW.arrayEnd]! - 6)).toBe('[4]');
  });

  it('counts more ids than there is room for, and stores the first ones', () => {
    const { place, ids } = scan(scanner, '{"hash_ids":[1,2,3,4,5]}', 2);
    expect(place[ROW.ids]).toBe(5);
    expect(ids).toEqual([1n, 2n]);
  });

  it('answers −1 without the member', () => {
    for (const text of ['{}', ' { } ', '{"a":1}', '{"a":{"hash_ids":[1]}}', '{"hash_ids_":[1]}']) {
      expect(scan(scanner, text).place[ROW.ids], text).toBe(-1);
    }
  });

  it.each([
    '1.5',
    '1e3',
    '"1"',
    'null',
    'true',
    '[1]',
    '{}',
    '01',
    '-01',
    '+1',
    '-',
    '1,',
    ',1',
    '1 2',
    '1,,2',
    '18446744073709551616',
    '99999999999999999999',
    '100000000000000000000',
    '-9223372036854775809',
    '0x1',
    '1-',
  ])('answers −2 for an id that is %s, and where', (id) => {
    const text = `{"hash_ids":[7,${id},8]}`;
    const { place } = scan(scanner, text);
    expect(place[ROW.ids]).toBe(-2);
    expect(place[ROW.errorAt]).toBeGreaterThanOrEqual('{"hash_ids":[7,'.length);
    expect(place[ROW.errorAt]).toBeLessThanOrEqual(text.indexOf(',8]') + 1);
  });

  it('answers −2 for hash_ids that is no array', () => {
    for (const value of ['1', '"[1]"', 'null', '{"hash_ids":[1]}']) {
      expect(scan(scanner, `{"hash_ids":${value}}`).place[ROW.ids], value).toBe(-2);
    }
  });

  it('answers −3 for what is no whole object', () => {
    const whole = '{"a":"x\\"y","hash_ids":[1,22,333],"b":{"c":[1]}}';
    for (let cut = 0; cut < whole.length; cut++) {
      expect(scan(scanner, whole.slice(0, cut)).place[ROW.ids], whole.slice(0, cut)).toBe(-3);
    }
    for (const text of [
      '[]',
      '1',
      `${whole}x`,
      `${whole}{}`,
      '{"a" 1}',
      '{"a":1 "b":2}',
      '{a:1}',
      '{"a":}',
      '{"a":1,}',
    ]) {
      expect(scan(scanner, text).place[ROW.ids], text).toBe(-3);
    }
  });

  it('answers −4 for a second hash_ids', () => {
    expect(scan(scanner, '{"hash_ids":[1],"hash_ids":[2]}').place[ROW.ids]).toBe(-4);
  });
});

describe('scanTraceRow', () => {
  it('answers the same on every backend for random lines', () => {
    const pieces =
      '{ } [ ] , : " "hash_ids" "a" "a\\"b" "hash_ids":[ \\ 0 1 -1 - 12345 123456789012345 1234567890123456 18446744073709551615 18446744073709551616 -9223372036854775808 -9223372036854775809 1.5 1e3 null "x":1, {"hash_ids":[1,2,3 01 é 99999999999999999999 000000000000000000000001 "b":{"hash_ids":[7]}, 7,8,9, ],"turn":3}'
        .split(' ')
        .concat(' ', '\t');
    const random = new Random(20);
    const below = (n: number) => Math.floor(random.uniform() * n);
    for (let round = 0; round < 30_000; round++) {
      let text = below(3) ? '{' : '';
      if (below(2)) text += '"hash_ids":[';
      for (let n = below(10); n > 0; n--) text += pieces[below(pieces.length)]! + (below(3) ? '' : ',');
      if (below(2)) text += ']}';
      const room = below(6);
      const after = 'y'.repeat(below(12));
      expect(scan(seam.scanTraceRow, text, room, 'x', after), text).toEqual(
        scan(scanTraceRow, text, room, 'x', after),
      );
    }
  });
});
