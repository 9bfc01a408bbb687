import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import type { ApcResult } from '../../src/analysis/request-log.js';
import { HashList } from '../../src/cli/hash-list.js';
import { collect } from '../../src/cli/read-sketch.js';
import type { SketchBuilt } from '../../src/cli/run-sketch-build.js';
import type { SketchInspection } from '../../src/cli/sketch-inspection.js';
import type { TestedJson } from '../../src/cli/sketch-json.js';
import { BloomFilter, decodeFrame, encodeFrame, type SketchHead, toParquet } from '../../src/sketch/index.js';
import { compiledCli } from './support.js';

type Inspected = SketchInspection & { readonly tested: TestedJson | null };

const kvidx = compiledCli();
const folder = mkdtempSync(join(tmpdir(), 'kvidx-sketch-'));
afterAll(() => rmSync(folder, { recursive: true }));
const example = 'examples/agentic-mini.jsonl.gz';

const hashes = BigUint64Array.from({ length: 3000 }, (_, i) =>
  BigInt.asUintN(64, 0x9e3779b97f4a7c15n * BigInt(i)),
);
const list = file('hashes.txt', `${[...hashes].join('\n')}\n`);

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const NOW = Date.now();
const head: SketchHead = {
  worker: 'w0',
  session: undefined,
  epoch: 7,
  sequence: 1234,
  timestampMs: NOW - 9_000_000,
  keys: hashes.length,
  targetFpp: 0.01,
  blockSize: 24,
};
const filter = BloomFilter.of(hashes);
const frame = encodeFrame({ kind: 'full', ...head, filter });
const framePath = file('full.kvsk', frame);
const parquetPath = file('filter.bloom', toParquet(filter));

async function built(args: readonly string[], options = {}): Promise<SketchBuilt> {
  const { code, stdout, stderr } = await kvidx(['sketch', 'build', ...args, '--json'], options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

async function inspected(args: readonly string[], options = {}): Promise<Inspected> {
  const { code, stdout, stderr } = await kvidx(['sketch', 'inspect', ...args, '--json'], options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

describe('kvidx sketch build', () => {
  it('writes the frame of a list of hashes, each once', async () => {
    const path = join(folder, 'list.kvsk');
    const repeating = file('repeating.txt', `${[...hashes, ...hashes.slice(0, 50)].join('\n')}\n`);
    const names = ['--worker', 'w7', '--session', 's1', '--block-size', '64'];
    const result = await built([repeating, '--out', path, '--target-fpp', '0.001', ...names]);
    const bytes = readFileSync(path);
    const sketch = decodeFrame(bytes);
    const expected = BloomFilter.of(hashes, 0.001);
    expect(sketch).toMatchObject({
      ...{ kind: 'full', worker: 'w7', session: 's1', sequence: 0 },
      ...{ keys: 3000, targetFpp: 0.001, blockSize: 64 },
    });
    expect(sketch.kind === 'full' && sketch.filter.equals(expected)).toBe(true);
    expect(sketch.epoch).toBe(sketch.timestampMs);
    expect(sketch.timestampMs).toBeGreaterThanOrEqual(NOW);
    expect(result).toEqual({
      ...{ out: path, format: 'frame', worker: 'w7', session: 's1', block_size: 64 },
      ...{ blocks: 3000, blocks_named: 3050, z: expected.z },
      ...{ bytes: bytes.length, bytes_per_block: bytes.length / 3000 },
      ...{ target_fpp: 0.001, actual_fpp: expected.falsePositiveRate() },
    });
  });

  it('writes the same bits behind the header of Parquet', async () => {
    const path = join(folder, 'list.bloom');
    const result = await built([list, '--out', path, '--format', 'parquet']);
    expect(readFileSync(path).equals(toParquet(filter))).toBe(true);
    expect(result).toMatchObject({ format: 'parquet', worker: null, session: null, block_size: null });
  });

  it('takes all different blocks of a trace, and its block size', async () => {
    const path = join(folder, 'mini.kvsk');
    const result = await built(['--trace', example, '--out', path]);
    const apc: ApcResult = JSON.parse((await kvidx(['apc', example, '--json'])).stdout);
    expect(result).toMatchObject({
      block_size: apc.block_size,
      blocks: apc.unique_blocks,
      blocks_named: apc.total_blocks,
    });
    expect(decodeFrame(readFileSync(path))).toMatchObject({
      worker: 'worker',
      session: undefined,
      blockSize: 64,
    });
  });

  it('reads standard input: decimal, negative, hex, comments, blank lines, no last newline, gzip', async () => {
    const text = '\ufeff# ids\n1\n\n  -1 # the last\r\n0xfF\n18446744073709551614';
    for (const input of [text, gzipSync(text)]) {
      const path = join(folder, 'stdin.kvsk');
      expect(await built(['-', '--out', path], { input })).toMatchObject({ blocks: 4, blocks_named: 4 });
      const sketch = decodeFrame(readFileSync(path));
      const expected = BloomFilter.of(BigUint64Array.of(1n, 2n ** 64n - 1n, 255n, 2n ** 64n - 2n));
      expect(sketch.kind === 'full' && sketch.filter.equals(expected)).toBe(true);
    }
  });

  it('writes bytes alone to standard output with --out -, and says the rest on standard error', async () => {
    const { code, stdout, stderr } = await kvidx(['sketch', 'build', list, '--out', '-', '--worker', 'w3']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^KVSK/);
    expect(stderr).toMatch(/^standard output: a full sketch frame\n/);
    expect(stderr).toMatch(/│ worker +│ +w3 │/);
  });

  it('prints with --out - the object of --json on standard error, as its help says', async () => {
    const { stdout, stderr } = await kvidx(['sketch', 'build', list, '--out', '-', '--json']);
    expect(stdout).toMatch(/^KVSK/);
    expect(JSON.parse(stderr)).toMatchObject({ out: '-', blocks: 3000 });
    const help = (await kvidx(['sketch', 'build', '--help'])).stdout;
    expect(help.replace(/\s+/g, ' ')).toMatch(/--json print .* with --out - .* standard error/);
  });

  it.runIf(existsSync('/dev/full')).each([[[]], [['--json']]])(
    'says nothing but the error when standard output cannot take the bytes: %j',
    async (flags) => {
      const args = ['sketch', 'build', list, '--out', '-', ...flags];
      const { code, stderr } = await kvidx(args, { stdoutTo: '/dev/full' });
      expect(code).toBe(1);
      expect(stderr).toMatch(/^kvidx: cannot write to standard output: ENOSPC.*\n$/);
    },
  );

  it('prints blocks, bytes against an exact set, and both rates', async () => {
    const { stdout } = await kvidx(['sketch', 'build', list, '--out', join(folder, 'x.kvsk')]);
    expect(stdout).toMatch(/^.*x\.kvsk: a full sketch frame\n/);
    expect(stdout).toMatch(/│ blocks +│ +3,000 │/);
    expect(stdout).toMatch(/│ bytes +│ +[34],\d{3} │ 1\.3\d a block; exact hashes: 8 +│/);
    expect(stdout).toMatch(/│ target rate +│ +1 % │/);
    expect(stdout).toMatch(/│ actual rate +│ +(1|1\.0\d|0\.9\d+) % │/);
  });

  it.each([
    ['no such file', () => '/nonexistent/hashes', [], /hashes: no such file\n$/],
    ['a directory', () => folder, [], /directory/],
    ['no hashes', () => file('none.txt', '# nothing\n\n'), [], /none\.txt: no hashes/],
    ['a word', () => file('word.txt', '1\n\nabc\n'), [], /word\.txt:3: "abc" is no hash: give it in decimal/],
    [
      'a hash too large',
      () => file('large.txt', '18446744073709551616'),
      [],
      /large\.txt:1: 18446744073709551616 does not fit 64 bits: a hash is from −2\^63 to 2\^64 − 1\n$/,
    ],
    [
      'a hash too small',
      () => file('small.txt', '-9223372036854775809'),
      [],
      /small\.txt:1: .*does not fit 64 bits/,
    ],
    ['a trace', () => example, [], /mini\.jsonl\.gz:1: .*no hash.*\n\(--trace reads a trace\)/],
    [
      'zeros',
      () => file('zeros', new Uint8Array(1e5)),
      [],
      /zeros: .*\(line 1\): is this a list of hashes\?/,
    ],
    [
      'cut gzip data',
      () => file('cut.gz', gzipSync('1\n2\n').subarray(0, 20)),
      [],
      /cut\.gz: cannot be read/,
    ],
    ['no trace', () => list, ['--trace'], /hashes\.txt:1: no JSON object/],
    [
      'a trace of no blocks',
      () => file('no.jsonl', '{"input_length":5,"hash_ids":[]}'),
      ['--trace', '--block-size', '9'],
      /no\.jsonl: its rows name no blocks/,
    ],
    [
      'a trace whose blocks no index takes',
      () =>
        file(
          'wide.jsonl',
          '{"input_length":16383,"hash_ids":[1]}\n{"input_length":24576,"hash_ids":[1,2,3]}',
        ),
      ['--trace'],
      /wide\.jsonl: its blocks have 8,192 tokens, and no index takes blocks of more than 4,096/,
    ],
    [
      'a block size that the trace contradicts',
      () => example,
      ['--trace', '--block-size', '24'],
      /block size 24 contradicts/,
    ],
  ])('exits with 1 for %s, and writes nothing', async (_, path, args, message) => {
    const out = join(folder, 'unwritten');
    const { code, stdout, stderr } = await kvidx(['sketch', 'build', path(), '--out', out, ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
    expect(() => readFileSync(out)).toThrow(/ENOENT/);
  });

  it('exits with 1 when it cannot write', async () => {
    const { code, stdout, stderr } = await kvidx(['sketch', 'build', list, '--out', '/nonexistent/x']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^kvidx: cannot write \/nonexistent\/x/);
  });

  it('does not overwrite its hashes', async () => {
    const before = readFileSync(list);
    const { code, stderr } = await kvidx(['sketch', 'build', list, '--out', list]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/--out .* is the input itself, which it would overwrite/);
    expect(readFileSync(list).equals(before)).toBe(true);
  });
});

describe('kvidx sketch inspect', () => {
  it('says all that a full frame says, and what its bits are worth', async () => {
    const shown = await inspected([framePath]);
    const rate = filter.falsePositiveRate();
    expect(shown).toMatchObject({
      ...{
        file: framePath,
        kind: 'full',
        worker: 'w0',
        session: null,
        epoch: 7,
        sequence: 1234,
        block_size: 24,
      },
      ...{ timestamp_ms: NOW - 9_000_000, built_at: new Date(NOW - 9_000_000).toISOString() },
      ...{ blocks: 3000, z: filter.z, sent_z: filter.z, bytes: frame.length, target_fpp: 0.01 },
      ...{ expected_fpp: rate, expected_inflation: rate / (1 - rate), tested: null },
      bits_per_block: (256 * filter.z) / 3000,
    });
    expect(shown.age_ms).toBeGreaterThanOrEqual(9_000_000);
    expect(shown.checksum).toMatch(/^0x[\da-f]{16}$/);
    expect(shown.fill.reduce((sum, { blocks }) => sum + blocks, 0)).toBe(filter.z);
    let set = 0;
    for (const word of filter.words) set += word.toString(2).replaceAll('0', '').length;
    expect(shown.share_of_bits_set).toBeCloseTo(set / (256 * filter.z), 12);
  });

  it('estimates the blocks of a Parquet filter by the bits that are set', async () => {
    const shown = await inspected([parquetPath]);
    expect(shown).toMatchObject({ kind: 'parquet', worker: null, epoch: null, age_ms: null, checksum: null });
    expect(shown.blocks).toBeNull();
    expect(Math.abs(shown.estimated_blocks! / 3000 - 1)).toBeLessThan(0.03);
  });

  it('prints a table and a picture of how full the blocks are', async () => {
    const { code, stdout, stderr } = await kvidx(['sketch', 'inspect', framePath]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^.*full\.kvsk: a full frame/);
    expect(stdout).toMatch(/│ worker +│ +w0 │/);
    expect(stdout).toMatch(/│ sequence +│ +1,234 │/);
    expect(stdout).toMatch(/│ built +│ +20\S+Z │ 2 hours ago/);
    expect(stdout).toMatch(/│ expected rate +│ +(1|1\.0\d|0\.9\d+) % │/);
    expect(stdout).toMatch(/│ inflation +│ +0\.0(1|09)\d* blocks │/);
    expect(stdout).toMatch(/│ checksum +│ +0x[\da-f]{16} │ XXH64; it matches/);
    expect(stdout).toMatch(/│ \d+ … \d+ +│ +\d+ │ █{40} │/);
  });

  it.each([
    ['a frame', () => framePath],
    ['a Parquet filter', () => parquetPath],
  ])('says of %s which hashes test positive, and how many lead', async (_, path) => {
    const absent = BigUint64Array.from({ length: 40 }, (_, i) => BigInt(i) + 0xdead_0000n).find(
      (hash) => !filter.has(hash),
    )!;
    const asked = [hashes[5]!, hashes[9]!, absent, hashes[1]!].map(String);
    const { tested } = await inspected([path(), '--test', ...asked]);
    expect(tested).toMatchObject({ positive: 3, overlap_blocks: 2 });
    expect(tested!.hashes).toEqual(asked.map((hash, i) => ({ hash, positive: i !== 2 })));
    const { stdout } = await kvidx([
      'sketch',
      'inspect',
      path(),
      '--test',
      '-1',
      `0x${hashes[9]!.toString(16)}`,
    ]);
    expect(stdout).toMatch(/│ 18446744073709551615 │ +no │ is certainly not │/);
    expect(stdout).toMatch(new RegExp(`│ ${hashes[9]} +│ +yes │ may be resident`));
    expect(stdout).toMatch(/\n1 of 2 test positive\. Leading overlap: 0 blocks/);
  });

  it('tests the hashes of a file or of standard input, and lists the first', async () => {
    const { tested } = await inspected([framePath, '--hashes', list]);
    expect(tested).toMatchObject({ positive: 3000, overlap_blocks: 3000 });
    const { stdout } = await kvidx(['sketch', 'inspect', framePath, '--hashes', '-'], {
      input: readFileSync(list),
    });
    expect(stdout).toMatch(/\nand 2,980 more \(--json has them all\)\n3,000 of 3,000 test positive/);
  });

  it('prints a line of JSON for each hash tested, of as many as there are', async () => {
    const count = 2500;
    const some = file('some.txt', [...hashes.slice(0, count)].join('\n'));
    const { stdout } = await kvidx(['sketch', 'inspect', framePath, '--hashes', some, '--json']);
    const lines = stdout.split('\n').filter((line) => line.includes('"hash"'));
    expect(lines).toHaveLength(count);
    expect(lines[1]).toBe(`      {"hash": "${hashes[1]}", "positive": true},`);
    const { tested }: Inspected = JSON.parse(stdout);
    expect(tested!.hashes.map(({ hash }) => BigInt(hash))).toEqual([...hashes.slice(0, count)]);
  });

  it('refuses a list without hashes', async () => {
    const none = file('none-to-test.txt', '# nothing\n');
    const { code, stdout, stderr } = await kvidx(['sketch', 'inspect', framePath, '--hashes', none]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/none-to-test\.txt: no hashes are in it\n$/);
  });

  it('refuses what does not begin as a sketch before it has read more, also where it has no end', async () => {
    const options = { input: 'KVST', inputStaysOpen: true };
    const { code, stderr } = await kvidx(['sketch', 'inspect', '-'], options);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^kvidx: standard input: it begins with the bytes 4b 56 53 54: neither/);
  });

  it.runIf(existsSync('/dev/zero'))('refuses a device without end', async () => {
    const { code, stderr } = await kvidx(['sketch', 'inspect', '/dev/zero']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^kvidx: \/dev\/zero: it begins with the bytes 00 00 00 00: neither/);
  });

  it('refuses a file that is longer than any sketch', async () => {
    const long = file('huge.kvsk', frame);
    truncateSync(long, 2 ** 31);
    const { code, stderr } = await kvidx(['sketch', 'inspect', long]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/huge\.kvsk: it is longer than the largest sketch, which has 1,[\d,]+ bytes\n$/);
  });

  it('takes a sketch that comes byte by byte', async () => {
    expect(Buffer.from(frame).equals(await collect(bytewise(frame)))).toBe(true);
  });

  it('stops reading what is longer than a sketch may be', async () => {
    let asked = 0;
    const endless = async function* () {
      for (yield Buffer.from('KVSK'); ; asked += 1) yield Buffer.alloc(100);
    };
    await expect(collect(endless(), { most: 1000 })).rejects.toThrow(
      /the largest sketch, which has 1,000 bytes/,
    );
    expect(asked).toBeLessThanOrEqual(10);
  });

  it('reads the sketch from standard input', async () => {
    expect(await inspected(['-'], { input: frame })).toMatchObject({ file: '-', kind: 'full', worker: 'w0' });
  });

  it('shows of a delta frame what it has, and tests nothing against it', async () => {
    const blocks = filter.words.slice(0, 16);
    const delta = file(
      'delta.kvsk',
      encodeFrame({ kind: 'delta', ...head, z: filter.z, indices: Uint32Array.of(0, 1), blocks }),
    );
    expect(await inspected([delta])).toMatchObject({
      kind: 'delta',
      z: filter.z,
      sent_z: 2,
      expected_fpp: null,
    });
    expect((await kvidx(['sketch', 'inspect', delta])).stdout).toMatch(/│ changed +│ +2 × 256 bits │/);
    const { code, stderr } = await kvidx(['sketch', 'inspect', delta, '--test', '1']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/delta\.kvsk: a delta frame has only the blocks that changed/);
  });

  it('shows of a delta frame without blocks, and of a clear frame, that they have none', async () => {
    const none = { indices: new Uint32Array(0), blocks: new Uint32Array(0) };
    const empty = file('empty.kvsk', encodeFrame({ kind: 'delta', ...head, z: 9, ...none }));
    expect(await inspected([empty])).toMatchObject({ sent_z: 0, share_of_bits_set: null, fill: [] });
    const clear = file('clear.kvsk', encodeFrame({ kind: 'clear', ...head, keys: 0, z: 0 }));
    const shown = await inspected([clear, '--test', '1']);
    expect(shown).toMatchObject({ kind: 'clear', blocks: 0, z: 0, bits_per_block: null, expected_fpp: 0 });
    expect(shown.tested).toMatchObject({ positive: 0, overlap_blocks: 0 });
    expect((await kvidx(['sketch', 'inspect', clear])).stdout).toMatch(
      /clear\.kvsk: a clear frame: nothing is resident/,
    );
  });

  it('shows a filter whose bits are all set', async () => {
    const full = file('ones.bloom', toParquet(BloomFilter.fromWords(new Uint32Array(8).fill(0xffff_ffff))));
    expect(await inspected([full])).toMatchObject({
      expected_fpp: 1,
      expected_inflation: null,
      estimated_blocks: null,
    });
    expect((await kvidx(['sketch', 'inspect', full])).stdout).toMatch(/│ inflation +│ +no end │/);
  });

  it('shows the latest and the strangest that a frame may say', async () => {
    const strange = {
      worker: '\u001b[2J\u202eworker',
      timestampMs: Number.MAX_SAFE_INTEGER,
      session: 's'.repeat(300),
    };
    const path = file('strange.kvsk', encodeFrame({ kind: 'full', ...head, ...strange, filter }));
    const { code, stdout } = await kvidx(['sketch', 'inspect', path]);
    expect(code).toBe(0);
    expect(stdout).toContain('\\u{1b}[2J\\u{202e}worker');
    expect(stdout).toContain(` ${'s'.repeat(40)}… `);
    expect(stdout).toMatch(/│ built +│ +9,007,199,254,740,991 ms │ [\d,]+ days from now/);
    expect(await inspected([path])).toMatchObject({ built_at: null, worker: strange.worker });
  });

  it.each([
    ['no such file', () => '/nonexistent/file', /file: no such file\n$/],
    ['a directory', () => folder, /directory/],
    ['an empty file', () => file('nothing', ''), /nothing: the file is empty/],
    [
      'another file',
      () => list,
      /hashes\.txt: it begins with the bytes 30 0a .*neither a sketch frame .*nor a Parquet filter/,
    ],
    [
      'a flipped bit',
      () => file('flip.kvsk', frame.with(200, frame[200]! ^ 1)),
      /flip\.kvsk: .*checksum \(byte \d+\) does not match/,
    ],
    ['another version', () => file('v9.kvsk', frame.with(4, 9)), /v9\.kvsk: .*version 9 \(byte 4\)/],
    ['a cut frame', () => file('cut.kvsk', frame.subarray(0, 99)), /cut\.kvsk: .*ends after 99 bytes/],
    [
      'a long frame',
      () => file('long.kvsk', Buffer.concat([frame, frame])),
      /long\.kvsk: .*goes on behind its end/,
    ],
    [
      'a cut Parquet filter',
      () => file('cut.bloom', toParquet(filter).subarray(0, 99)),
      /cut\.bloom: .*numBytes is [\d,]+, and [\d,]+ bytes follow/,
    ],
    [
      'another Parquet header',
      () => file('odd.bloom', toParquet(filter).with(4, 0x2c)),
      /odd\.bloom: .*BLOCK \(byte 3\)/,
    ],
  ])('exits with 1 for %s', async (_, path, message) => {
    const { code, stdout, stderr } = await kvidx(['sketch', 'inspect', path()]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^kvidx: [^\n]*\n$/);
    expect(stderr).toMatch(message);
  });
});

async function* bytewise(bytes: Uint8Array): AsyncGenerator<Buffer> {
  for (const byte of bytes) yield Buffer.of(byte);
}

describe('a list of hashes without end', () => {
  it('grows up to a bound', () => {
    const list = new HashList(5000);
    for (let i = 0; i < 5000; i++) list.push(BigInt(i));
    expect(() => list.push(1n)).toThrow(/more than 5,000 hashes are too many/);
    expect(list.hashes).toEqual(BigUint64Array.from({ length: 5000 }, (_, i) => BigInt(i)));
  });
});

describe('kvidx sketch', () => {
  it.each([[[]], [['build']], [['inspect']]])('has help with examples: %j', async (command) => {
    const noBackend = { env: { KVIDX_BACKEND: 'none is loaded for help' } };
    const { code, stdout, stderr } = await kvidx(['sketch', ...command, '--help'], noBackend);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/Examples:\n {2}\$ kvidx sketch/);
  });

  it.each([
    [[], /Usage: kvidx sketch/],
    [['bild'], /unknown command 'bild'.*\n.*build/],
    [['build', 'none'], /--out <file>/],
    [['build', '--out', 'x'], /missing required argument 'hashes'/],
    ...['0', '0.6', '1e-7', '1%', 'x', ''].map((rate): [string[], RegExp] => [
      ['build', 'none', '--out', 'x', '--target-fpp', rate],
      /--target-fpp.*number from 0\.000001 to 0\.5/,
    ]),
    [['build', 'none', '--out', 'x', '--format', 'json'], /--format.*frame, parquet/],
    [['build', 'none', '--out', 'x', '--block-size', '4097'], /--block-size.*integer from 1 to 4096/],
    [['build', 'none', '--out', 'x', '--worker', ''], /--worker.*Give a name/],
    [['build', 'none', '--out', 'x', '--format', 'parquet', '--worker', 'w'], /--worker has no part/],
    [['build', 'none', '--out', 'x', '--format', 'parquet', '--session', 's'], /--session has no part/],
    [['build', 'none', '--out', 'x', '--format', 'parquet', '--block-size', '8'], /--block-size has no part/],
    [['build', 'none', '--out', ''], /--out needs a file name/],
    [['build', '', '--out', 'x'], /an empty file name/],
    [['inspect', ''], /an empty file name/],
    [['inspect', 'none', '--hashes', ''], /--hashes needs a file name/],
    [['inspect'], /missing required argument 'file'/],
    [['inspect', 'none', '--test', 'x'], /--test.*Give a hash/],
    [['inspect', 'none', '--test', '18446744073709551616'], /--test.*It does not fit 64 bits/],
    [['inspect', 'none', '--test', '1', '--hashes', 'h'], /not both/],
    [['inspect', '-', '--hashes', '-'], /standard input/],
  ])('exits with 2 when used as %j', async (args, message) => {
    const { code, stdout, stderr } = await kvidx(['sketch', ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});
