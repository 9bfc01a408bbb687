import { readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { TraceReader } from '../../src/trace/trace-reader.js';
import { failure, readRows, rowsOf, traceFile } from './support.js';

const mooncake = '{"timestamp": 0.25, "input_length": 600, "output_length": 7, "hash_ids": [1, 2]}\n';

function hybrid(chat: number | string, parent: number | string, more = ''): string {
  return `{"chat_id":${chat},"parent_chat_id":${parent},"timestamp":1.5,"input_length":130,"output_length":3,"type":"text","turn":1,"hash_ids":[1,2]${more}}\n`;
}

describe('TraceReader', () => {
  it('reads Mooncake rows: milliseconds, no sessions', async () => {
    const path = await traceFile(mooncake);
    const reader = new TraceReader(path);
    for await (const row of reader) {
      expect(row).toMatchObject({
        line: 1,
        timestampMs: 0.25,
        inputLength: 600,
        outputLength: 7,
        sessionId: undefined,
        hashIds: BigUint64Array.of(1n, 2n),
      });
    }
    expect(reader).toMatchObject({ format: 'mooncake', rows: 1, skipped: 0 });
  });

  it('reads hybrid rows: seconds with their fraction, and a session', async () => {
    const path = await traceFile(hybrid(7, -1, ',"session_id":"s1","time_to_parent_chat":1234'));
    const reader = new TraceReader(path);
    for await (const row of reader) {
      expect(row).toMatchObject({
        timestampMs: 1500,
        sessionId: 's1',
        chatId: '7',
        parentChatId: undefined,
        type: 'text',
        turn: 1,
        timeToParentChatMs: 1234,
      });
    }
    expect(reader.format).toBe('hybrid');
  });

  it('gives every row ids of its own', async () => {
    const rows = await rowsOf('{"input_length":1,"hash_ids":[1]}\n{"input_length":1,"hash_ids":[2]}\n');
    expect(rows.map((row) => row.hashIds[0])).toEqual([1n, 2n]);
  });

  it('gives rows ids in the same memory when it is asked to', async () => {
    const rows = ['[1]', '[2,3,4]', '[]', `[${Array.from({ length: 70_000 }, (_, i) => i)}]`, '[5]'];
    const path = await traceFile(rows.map((ids) => `{"input_length":1,"hash_ids":${ids}}\n`).join(''));
    const read: string[] = [];
    const buffers = new Set<ArrayBufferLike>();
    for await (const { hashIds } of new TraceReader(path, { reuseIds: true })) {
      read.push(`[${hashIds}]`);
      if (hashIds.length < 70_000) buffers.add(hashIds.buffer);
    }
    expect(read).toEqual(rows);
    expect(buffers.size).toBe(2); // what the long row needed stays
  });

  it('takes the root of the parent chain as the session where none is named', async () => {
    const rows = await rowsOf(hybrid(1, -1) + hybrid(2, 1) + hybrid(3, -1) + hybrid(4, 2) + hybrid(5, 3));
    expect(rows.map((row) => row.sessionId)).toEqual(['1', '1', '3', '1', '3']);
  });

  it('takes a parent that no row shows as the root, also when it comes later', async () => {
    const rows = await rowsOf(hybrid(2, 1) + hybrid(3, 1) + hybrid(4, 3) + hybrid(1, -1) + hybrid(5, 9));
    expect(rows.map((row) => row.sessionId)).toEqual(['1', '1', '1', '1', '9']);
  });

  it('passes a named session on to children without a name', async () => {
    const rows = await rowsOf(hybrid(1, -1, ',"session_id":"a"') + hybrid(2, 1));
    expect(rows.map((row) => row.sessionId)).toEqual(['a', 'a']);
  });

  it('keeps chat ids beyond 2^53 apart', async () => {
    const rows = await rowsOf(
      hybrid('9007199254740992', -1) +
        hybrid('9007199254740993', -1) +
        hybrid(3, '9007199254740993', ',"x":"12345678901234567"'),
    );
    expect(rows.map((row) => row.sessionId)).toEqual([
      '9007199254740992',
      '9007199254740993',
      '9007199254740993',
    ]);
  });

  it('reads the session names of a Mooncake trace that has some', async () => {
    const rows = await rowsOf('{"session_id":"a","timestamp":5,"input_length":1,"hash_ids":[1]}');
    expect(rows[0]).toMatchObject({ sessionId: 'a', timestampMs: 5, chatId: undefined });
  });

  it('does without timestamps', async () => {
    const rows = await rowsOf(
      '{"input_length":1,"hash_ids":[1]}\n{"timestamp":null,"input_length":1,"hash_ids":[1]}',
    );
    expect(rows.map((row) => row.timestampMs)).toEqual([undefined, undefined]);
  });

  it('reads empty hash_ids, CRLF, blank lines, a byte order mark and no newline at the end', async () => {
    const rows = await rowsOf(
      '\ufeff{"input_length":0,"hash_ids":[]}\r\n\r\n \n{"input_length":5,"hash_ids":[3]}',
    );
    expect(rows.map((row) => [row.line, row.hashIds.length])).toEqual([
      [1, 0],
      [4, 1],
    ]);
  });

  it('knows gzip by the content, whatever the name', async () => {
    const packed = gzipSync(mooncake);
    expect(await readRows(await traceFile(packed, 'trace.jsonl'))).toHaveLength(1);
    expect(await readRows(await traceFile(mooncake, 'trace.jsonl.gz'))).toHaveLength(1);
    expect(await rowsOf(Buffer.concat([packed, packed]))).toHaveLength(2);
  });

  it('reads lines longer than any chunk and slab', async () => {
    const ids = Array.from({ length: 200_000 }, (_, i) => BigInt(i) * 1_000_003n);
    const long = `{"input_length":1,"hash_ids":[${ids.join(',')}]}\n`;
    const rows = await rowsOf(mooncake + long + mooncake + long);
    expect(rows.map((row) => row.hashIds.length)).toEqual([2, 200_000, 2, 200_000]);
    for (const row of [rows[1]!, rows[3]!]) expect(row.hashIds).toEqual(BigUint64Array.from(ids));
  });

  it('tells how much was read', async () => {
    const told: (number | undefined)[][] = [];
    await rowsOf(mooncake, { onProgress: (...bytes) => told.push(bytes) });
    expect(told.at(-1)).toEqual([mooncake.length, mooncake.length]);
  });

  it('starts again with each iteration', async () => {
    const reader = new TraceReader(await traceFile(mooncake));
    for (const _ of [1, 2]) for await (const row of reader) expect(row.line).toBe(1);
    expect(reader.rows).toBe(1);
  });

  const openFiles = () => readdirSync('/proc/self/fd').length;
  it.skipIf(process.platform !== 'linux')(
    'closes the file when it is left early or ends with an error',
    async () => {
      const before = openFiles();
      for (const content of [mooncake, mooncake.repeat(20_000), `${mooncake}x`]) {
        for (const path of [await traceFile(content), await traceFile(gzipSync(content))]) {
          for await (const _ of new TraceReader(path)) break;
          await readRows(path).catch(() => {});
        }
      }
      await expect.poll(openFiles).toBe(before);
    },
  );
});

describe('a bad row', () => {
  it.each([
    ['no JSON', 'hello', /no JSON object.*column 1 /],
    ['cut', '{"input_length":1,"hash_ids":[1', /no JSON object/],
    ['JSON of another kind', '[1]', /no JSON object/],
    ['wrong behind the ids', '{"input_length":1,"hash_ids":[1],"x":tru}', /no JSON/],
    ['without hash_ids', '{"input_length":1}', /no hash_ids/],
    ['with ids that are no integers', '{"input_length":1,"hash_ids":[1.5]}', /hash_ids.*integers.*column 31/],
    ['with a Number beyond u64', '{"input_length":1,"hash_ids":[18446744073709551616]}', /hash_ids/],
    ['with hash_ids twice', '{"input_length":1,"hash_ids":[1],"hash_ids":[1]}', /twice/],
    ['without input_length', '{"hash_ids":[1]}', /no input_length/],
    ['with a negative input_length', '{"input_length":-1,"hash_ids":[1]}', /input_length.*got -1/],
    ['with a fractional input_length', '{"input_length":1.5,"hash_ids":[1]}', /input_length.*got 1.5/],
    ['with an input_length in words', '{"input_length":"1","hash_ids":[1]}', /input_length.*got "1"/],
    ['with a NaN timestamp', '{"timestamp":NaN,"input_length":1,"hash_ids":[1]}', /no JSON.*N/],
    [
      'with an infinite timestamp',
      '{"timestamp":1e999,"input_length":1,"hash_ids":[1]}',
      /timestamp.*got Infinity/,
    ],
    ['with a negative timestamp', '{"timestamp":-1,"input_length":1,"hash_ids":[1]}', /timestamp.*got -1/],
    ['with an empty session', '{"session_id":"","input_length":1,"hash_ids":[1]}', /session_id is empty/],
    [
      'with a fractional session id',
      '{"session_id":1.5,"input_length":1,"hash_ids":[1]}',
      /session_id.*got 1.5/,
    ],
    [
      'with a session id that is rounded',
      '{"session_id":1e20,"input_length":1,"hash_ids":[1]}',
      /session_id.*got 1/,
    ],
    ['of the other format', '{"chat_id":1,"input_length":1,"hash_ids":[1]}', /chat_id in a Mooncake trace/],
  ])('%s is refused with file and line, or counted', async (_, bad, message) => {
    const path = await traceFile(`${mooncake}\n${bad}\n${mooncake}`);
    const error = await failure(readRows(path));
    expect(error.code).toBe('ERR_KVIDX_BAD_TRACE');
    expect(error.message).toContain(`${path}:3: `);
    expect(error.message).toMatch(message);

    const reader = new TraceReader(path, { onError: 'skip' });
    const lines: number[] = [];
    for await (const row of reader) lines.push(row.line);
    expect(lines).toEqual([1, 4]);
    expect(reader).toMatchObject({ rows: 2, skipped: 1, firstSkipped: { message: error.message } });
  });

  it('leaves the format to the first good row', async () => {
    const rows = await rowsOf(`{"chat_id":1}\n${mooncake}`, { onError: 'skip' });
    expect(rows).toHaveLength(1);
  });
});

describe('a bad file', () => {
  const skip = { onError: 'skip' } as const;

  it.each([
    ['is not there', async () => '/nonexistent/trace.jsonl', /no such file/],
    ['is a directory', async () => '/', /directory/],
    ['is empty', () => traceFile(''), /empty/],
    ['is empty gzip', () => traceFile(gzipSync('')), /empty/],
    ['has only blank lines', () => traceFile('\n \n'), /no rows/],
    ['has no good row', () => traceFile('x\ny\n'), /no good row among 2.*:1: no JSON/],
    [
      'is gzip cut short',
      () => traceFile(gzipSync(mooncake.repeat(9)).subarray(0, -12)),
      /:\d+: the gzip data ends too early/,
    ],
    [
      'is gzip cut in its head',
      () => traceFile(gzipSync(mooncake).subarray(0, 5)),
      /the gzip data ends too early/,
    ],
    ['is damaged gzip', () => traceFile(gzipSync(mooncake).fill(0x55, 20, 40)), /the gzip data is damaged/],
  ])('that %s is refused even when bad rows are skipped', async (_, path, message) => {
    const file = await path();
    const error = await failure(readRows(file, skip));
    expect(error.code).toBe('ERR_KVIDX_BAD_TRACE');
    expect(error.message.startsWith(file)).toBe(true);
    expect(error.message).toMatch(message);
  });

  it('with a line beyond the limit is refused, naming the line', async () => {
    const long = `${mooncake}{"input_length":1,"hash_ids":[${'1,'.repeat(200_000)}1]}`;
    for (const content of [long, `${long}\n${mooncake}`]) {
      const error = await failure(rowsOf(content, { maxLineBytes: 1000 }));
      expect(error.message).toMatch(/:2: the line is longer than 1000 bytes/);
    }
  });
});

describe('bad options', () => {
  it.each([
    [7, {}, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['x', { onError: 'ignore' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['x', { maxLineBytes: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['x', { maxLineBytes: Number.NaN }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['x', { onProgress: 1 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['x', null, 'ERR_KVIDX_INVALID_ARG_TYPE'],
  ])('%j, %j are refused', (path, options, code) => {
    expect(() => new TraceReader(path as never, options as never)).toThrow(expect.objectContaining({ code }));
  });
});
