import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { encode } from '@msgpack/msgpack';
import { afterAll, describe, expect, it } from 'vitest';
import {
  EventRecorder,
  type RecordedMessage,
  RecordedStreams,
  readRecording,
} from '../../src/events/recording/index.js';
import { RecordSplitter } from '../../src/events/recording/record-splitter.js';
import { Random } from '../../src/random.js';

const folder = mkdtempSync(join(tmpdir(), 'kvidx-recording-'));
afterAll(() => rmSync(folder, { recursive: true }));

const HEAD = encode({ format: 'kvidx-events', version: 1 });

function message(sequence: number, bytes = 100): RecordedMessage {
  const payload = Uint8Array.from({ length: bytes }, (_, i) => (i * 31 + sequence) & 255);
  return { worker: 'w0', dpRank: sequence & 1, sequence, receivedMs: 1_700_000_000_000 + sequence, payload };
}

function record({ worker, dpRank, sequence, receivedMs, payload }: RecordedMessage): Uint8Array {
  return encode([worker, dpRank, sequence, receivedMs, payload]);
}

let files = 0;
function file(...parts: readonly Uint8Array[]): string {
  const path = join(folder, `file-${files++}`);
  writeFileSync(path, Buffer.concat(parts));
  return path;
}

async function readAll(path: string, onCut?: (error: Error) => void): Promise<RecordedMessage[]> {
  const messages: RecordedMessage[] = [];
  for await (const each of readRecording(path, onCut && { onCut })) {
    messages.push({ ...each, payload: Uint8Array.from(each.payload) });
  }
  return messages;
}

/** What was read before, and what then was wrong. */
async function readUntilBad(path: string): Promise<{ read: number; problem: string; code: unknown }> {
  let read = 0;
  try {
    for await (const _ of readRecording(path)) read++;
  } catch (error) {
    return { read, problem: (error as Error).message, code: (error as { code?: unknown }).code };
  }
  throw new Error('nothing was wrong');
}

describe('EventRecorder', () => {
  it.each(['plain.kvev', 'packed.kvev.gz'])('records what readRecording reads: %s', async (name) => {
    const path = join(folder, name);
    const recorder = await EventRecorder.open(path);
    const messages = [message(0), message(1, 0), message(2, 70_000), message(2 ** 53 - 1), message(0, 300)];
    for (const each of messages) recorder.write(each);
    expect(recorder.messages).toBe(messages.length);
    await recorder.close();
    expect(await readAll(path)).toEqual(messages);
    expect(recorder.bytes).toBe(readFileSync(path).length);
    const bytes = readFileSync(path);
    const plain = name.endsWith('.gz') ? gunzipSync(bytes) : bytes;
    expect(plain.equals(Buffer.concat([HEAD, ...messages.map(record)]))).toBe(true);
  });

  it('copies a message: what becomes of its memory afterwards is of no matter', async () => {
    const path = join(folder, 'copied');
    const recorder = await EventRecorder.open(path);
    const first = message(0, 5000);
    const expected = { ...first, payload: first.payload.slice() };
    recorder.write(first);
    first.payload.fill(0);
    await recorder.close();
    expect(await readAll(path)).toEqual([expected]);
  });

  it('takes nothing once it is closed, and closes once', async () => {
    const recorder = await EventRecorder.open(join(folder, 'closed'));
    const sink = recorder.sink('w', 0);
    await Promise.all([recorder.close(), recorder.close()]);
    expect(() => recorder.write(message(0))).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_CLOSED' }));
    expect(sink.apply({ ...message(0), check: 0n }).isDamaged).toBe(true);
  });

  it('refuses what no record can hold, and goes on', async () => {
    const path = join(folder, 'refused');
    const recorder = await EventRecorder.open(path);
    const code = (bad: object) => {
      try {
        recorder.write({ ...message(0), ...bad } as RecordedMessage);
      } catch (error) {
        return (error as { code?: unknown }).code;
      }
      return undefined;
    };
    expect(code({ worker: '' })).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(code({ dpRank: 65_536 })).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(code({ sequence: -1 })).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(code({ receivedMs: Number.NaN })).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(code({ payload: 'text' })).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
    expect(code({ payload: new Uint8Array(64 * 2 ** 20) })).toBe('ERR_KVIDX_OUT_OF_RANGE');
    recorder.write(message(0));
    await recorder.close();
    expect(await readAll(path)).toEqual([message(0)]);
  });

  it('says which file cannot be written', async () => {
    await expect(EventRecorder.open(join(folder, 'no', 'such', 'folder'))).rejects.toMatchObject({
      code: 'ERR_KVIDX_BAD_RECORDING',
      message: expect.stringMatching(/^cannot write .*no\/such\/folder: ENOENT/),
    });
  });

  it.runIf(existsSync('/dev/full'))('tells once that the disk is full, and at close again', async () => {
    const told: Error[] = [];
    const recorder = await EventRecorder.open('/dev/full', { onError: (error) => told.push(error) });
    const sink = recorder.sink('w', 0);
    sink.apply({ ...message(0), check: 0n });
    await expect(recorder.close()).rejects.toThrow(/^cannot write \/dev\/full: ENOSPC/);
    expect(told.map(({ message }) => message)).toEqual([expect.stringMatching(/ENOSPC/)]);
  });
});

describe('readRecording', () => {
  it('reads records whatever chunks they come in', () => {
    const random = new Random(7);
    const messages = Array.from({ length: 60 }, (_, i) =>
      message(i, Math.floor(random.uniform() ** 4 * 3000)),
    );
    const bytes = Buffer.concat([HEAD, ...messages.map(record)]);
    for (const most of [1, 2, 7, 100, 5000, bytes.length]) {
      const splitter = new RecordSplitter();
      const found: Buffer[] = [];
      for (let at = 0; at < bytes.length; ) {
        const length = 1 + Math.floor(random.uniform() * most);
        for (const each of splitter.push(bytes.subarray(at, at + length))) found.push(Buffer.from(each));
        at += length;
      }
      expect(splitter.rest).toBe(0);
      expect(found).toEqual([HEAD, ...messages.map(record)].map((each) => Buffer.from(each)));
    }
  });

  it('takes any width that msgpack has for a text, a number or bytes', async () => {
    const wide = Buffer.from('95db0000000277300102' /* w0 … */, 'hex').subarray(0, 8);
    const rest = Buffer.concat([
      Buffer.from('cd0003', 'hex'),
      Buffer.from('cf0000000000000005', 'hex'),
      Buffer.from('cb4024000000000000', 'hex'),
      Buffer.from('c60000000207ff', 'hex'),
    ]);
    const path = file(HEAD, wide, rest);
    expect(await readAll(path)).toEqual([
      { worker: 'w0', dpRank: 3, sequence: 5, receivedMs: 10, payload: Uint8Array.of(7, 255) },
    ]);
  });

  it.each([
    ['plain', (bytes: Buffer) => bytes],
    ['gzip', (bytes: Buffer) => gzipSync(bytes)],
  ])('tells a last record that is cut, after those before it: %s', async (_, pack) => {
    const whole = Buffer.concat([HEAD, record(message(0)), record(message(1))]);
    for (const left of [1, 2, 30, 100]) {
      const path = file(pack(whole.subarray(0, whole.length - left)));
      const told: Error[] = [];
      expect(await readAll(path, (error) => told.push(error))).toEqual([message(0)]);
      expect(told).toMatchObject([
        { message: expect.stringMatching(/file-\d+: record 2: cut after \d+ bytes/) },
      ]);
      expect(await readUntilBad(path)).toMatchObject({ read: 1, code: 'ERR_KVIDX_BAD_RECORDING' });
    }
  });

  it('reads what is there of gzip data that a killed recorder left unfinished', async () => {
    const messages = Array.from({ length: 400 }, (_, i) => message(i, 900));
    const packed = gzipSync(Buffer.concat([HEAD, ...messages.map(record)]), { level: 1 });
    const told: Error[] = [];
    const read = await readAll(file(packed.subarray(0, packed.length - 40)), (error) => told.push(error));
    expect(read.length).toBeGreaterThan(0);
    expect(read).toEqual(messages.slice(0, read.length));
    expect(told.length).toBeLessThanOrEqual(1);
  });

  const good = record(message(0));
  it.each<[string, readonly Uint8Array[], number, RegExp]>([
    ['an empty file', [], 0, /file-\d+: the file is empty/],
    ['a cut head', [HEAD.subarray(0, 9)], 0, /file-\d+: cut after 9 bytes/],
    ['a text', [Buffer.from('{"input_length": 5}\n')], 0, /no recording that can be read/],
    ['zeros', [Buffer.alloc(1000)], 0, /no recording that can be read: no record begins here/],
    ['another map', [encode({ a: 1 })], 0, /does not begin with the format "kvidx-events"/],
    ['a later version', [encode({ format: 'kvidx-events', version: 2 })], 0, /of version 2, .* reads 1/],
    ['a second head', [HEAD, good, HEAD], 1, /record 2: no array of 5 items/],
    ['four items', [HEAD, good, encode(['w', 0, 0, 0])], 1, /record 2: no array of 5 items/],
    ['a rank of text', [HEAD, encode(['w', 'x', 0, 0, new Uint8Array(1)])], 0, /record 1: dpRank must be/],
    [
      'a number beyond 2^53',
      [HEAD, Buffer.from('95a17700cfffffffffffffffff00c400', 'hex')],
      0,
      /record 1: sequence/,
    ],
    ['no bytes', [HEAD, good, encode(['w', 0, 0, 0, 'text'])], 1, /record 2: payload must be/],
    [
      'nesting',
      [HEAD, good, Buffer.alloc(100_000, 0x91)],
      1,
      /record 2: a record holds texts, numbers and bytes/,
    ],
    [
      'an array of 2^31',
      [HEAD, good, Buffer.from('dd80000000', 'hex')],
      1,
      /record 2: no record begins here/,
    ],
    ['an item of 2^31', [HEAD, Buffer.from('95dd80000000', 'hex')], 0, /record 1: a record holds/],
    [
      '2^31 bytes',
      [HEAD, good, Buffer.from('95a177000000c680000000', 'hex')],
      1,
      /record 2: 2147483\d+ bytes or more; the most is 67108864/,
    ],
    ['damaged gzip data', [damaged(gzipSync(Buffer.concat([HEAD, good])))], 0, /gzip data is damaged/],
  ])('names what is wrong with %s', async (_, parts, read, problem) => {
    const found = await readUntilBad(file(...parts));
    expect(found).toEqual({ read, code: 'ERR_KVIDX_BAD_RECORDING', problem: expect.stringMatching(problem) });
  });

  it('says that there is no such file, or that it is a directory', async () => {
    expect((await readUntilBad(join(folder, 'none'))).problem).toMatch(/none: no such file$/);
    expect((await readUntilBad(folder)).problem).toMatch(/this is a directory/);
  });

  it('takes damage anywhere as an error or as other messages, never as anything else', async () => {
    const whole = Buffer.concat([HEAD, ...Array.from({ length: 20 }, (_, i) => record(message(i, 20)))]);
    const seed = 11;
    const random = new Random(seed);
    for (let i = 0; i < 300; i++) {
      const bytes = Buffer.from(whole);
      for (let n = 0; n < 3; n++) {
        bytes[Math.floor(random.uniform() * bytes.length)] = Math.floor(random.uniform() * 256);
      }
      const path = file(bytes.subarray(0, Math.floor(random.uniform() * (bytes.length + 1))));
      await readAll(path, () => {}).catch((error) => {
        expect(error, `seed ${seed}, input ${i}`).toMatchObject({ code: 'ERR_KVIDX_BAD_RECORDING' });
      });
    }
  });
});

function damaged(packed: Buffer): Buffer {
  packed.fill(0xff, 12, 30);
  return packed;
}

describe('RecordedStreams', () => {
  function streams() {
    const told: string[] = [];
    const recorded = new RecordedStreams({
      sink: (worker, rank) => ({
        apply: ({ sequence, payload }) => {
          told.push(`${worker}/${rank} ${sequence}`);
          return { isDamaged: false, isCleared: payload[0] === 1 };
        },
        restarted: () => void told.push(`${worker}/${rank} restarted`),
        degraded: (reason) => void told.push(`${worker}/${rank} ${reason}`),
      }),
    });
    const apply = (sequence: number, { worker = 'w', dpRank = 0, clears = 0 } = {}) =>
      recorded.apply({ worker, dpRank, sequence, receivedMs: 0, payload: Uint8Array.of(clears) });
    return { told, recorded, apply };
  }

  it('hands each stream to a sink of its own', () => {
    const { told, recorded, apply } = streams();
    apply(0);
    apply(0, { dpRank: 1 });
    apply(0, { worker: 'v' });
    apply(1);
    expect(told).toEqual(['w/0 0', 'w/1 0', 'v/0 0', 'w/0 1']);
    expect(recorded.states()).toMatchObject([
      { worker: 'w', dpRank: 0, messages: 2, firstSequence: 0, lastSequence: 1, gaps: 0, restarts: 0 },
      { worker: 'w', dpRank: 1, messages: 1 },
      { worker: 'v', dpRank: 0, messages: 1 },
    ]);
  });

  it('says that messages are missing, until the engine clears its cache', () => {
    const { told, recorded, apply } = streams();
    apply(5);
    expect(recorded.states()).toMatchObject([
      { gaps: 1, missing: 5, firstSequence: 5, degraded: 'late-start' },
    ]);
    apply(9);
    expect(recorded.states()).toMatchObject([{ gaps: 2, missing: 8, degraded: 'replay-too-short' }]);
    apply(10, { clears: 1 });
    expect(recorded.states()).toMatchObject([{ gaps: 2, missing: 8, degraded: undefined }]);
    expect(told).toEqual([
      ...['w/0 5', 'w/0 late-start', 'w/0 9', 'w/0 replay-too-short', 'w/0 10', 'w/0 undefined'],
    ]);
  });

  it('takes a number that does not rise for a new life of the engine', () => {
    const { told, recorded, apply } = streams();
    for (const sequence of [3, 0, 1, 1]) apply(sequence);
    expect(told).toEqual([
      ...['w/0 3', 'w/0 late-start', 'w/0 restarted', 'w/0 0', 'w/0 undefined', 'w/0 1'],
      ...['w/0 restarted', 'w/0 1', 'w/0 late-start'],
    ]);
    expect(recorded.states()).toMatchObject([{ restarts: 2, missing: 4, lastSequence: 1 }]);
  });
});
