import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { EventsApplied } from '../../src/cli/run-events-apply.js';
import type { WatchedJson } from '../../src/cli/watched-ranks.js';
import { encodeBatch } from '../../src/events/fake/index.js';
import { EventRecorder, type StoredEvent } from '../../src/index.js';
import { freePorts } from '../free-ports.js';
import { compiledCli, type Run } from './support.js';

const kvidx = compiledCli();
const folder = mkdtempSync(join(tmpdir(), 'kvidx-events-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Long enough for any machine; only a failure waits for it. */
const PATIENCE_MS = 30_000;

// ----------------------------------------------------------------------------------------------------- processes

/** A command that goes on by itself. */
class Running {
  stdout = '';
  stderr = '';
  #child: ChildProcess | undefined;
  readonly ended: Promise<Run>;

  constructor(args: readonly string[]) {
    this.ended = kvidx(args, {
      onStart: (child) => {
        this.#child = child;
        child.stdout!.on('data', (text) => {
          this.stdout += text;
        });
        child.stderr!.on('data', (text) => {
          this.stderr += text;
        });
      },
    });
  }

  /** Looks at what it has said until that says something. */
  async until<T>(look: (said: Running) => T | undefined): Promise<T> {
    const endMs = Date.now() + PATIENCE_MS;
    for (;;) {
      const found = look(this);
      if (found !== undefined) return found;
      if (Date.now() > endMs) throw new Error(`it only said\n${this.stdout}\n${this.stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<Run> {
    this.#child!.kill(signal);
    return this.ended;
  }
}

const running: Running[] = [];

afterEach(async () => {
  for (const each of running.splice(0)) await each.stop('SIGKILL');
});

function start(...args: readonly string[]): Running {
  const process = new Running(['events', ...args]);
  running.push(process);
  return process;
}

/** Somebody who greets as ZeroMQ does, with a mechanism that nobody knows. */
async function strangeServer(): Promise<string> {
  const greeting = Buffer.alloc(64);
  greeting.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]);
  greeting.write('BOGUS', 12);
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write(greeting);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface FakeJson {
  readonly requests: number;
  readonly ranks: readonly {
    readonly rank: number;
    readonly endpoint: string;
    readonly replay_endpoint: string;
    readonly messages: number;
    readonly dropped: number;
    readonly held_blocks: { readonly gpu: number; readonly cpu: number };
  }[];
}

/** A fake engine that has served all of its requests, and how it is listened to. */
async function served(ranks: number, ...options: readonly string[]) {
  const port = await freePorts(2 * ranks);
  const endpoint = `tcp://127.0.0.1:${port}`;
  const flags = ['--rate', '0', '--json', '--endpoint', endpoint, '--ranks', `${ranks}`];
  const process = start('fake', ...flags, ...options);
  const fake: FakeJson = await process.until(({ stdout }) =>
    stdout.endsWith('}\n') ? JSON.parse(stdout) : undefined,
  );
  const replay = `tcp://127.0.0.1:${port + ranks}`;
  return { process, fake, endpoint, listen: [endpoint, '--ranks', `${ranks}`, '--replay', replay] };
}

function messagesOf({ ranks }: FakeJson): number {
  return ranks.reduce((sum, { messages }) => sum + messages, 0);
}

function lastLine(text: string): WatchedJson | undefined {
  const line = text.split('\n').at(-2);
  return line === undefined ? undefined : JSON.parse(line);
}

// -------------------------------------------------------------------------------------------------------- engines

describe('kvidx events', () => {
  it('watch knows what the fake engine holds, though messages are dropped', async () => {
    const { process, fake, listen } = await served(
      2,
      ...['--requests', '80', '--capacity', '2000', '--offload', '900', '--drop', '5'],
    );
    expect(fake.ranks.every(({ dropped }) => dropped > 0)).toBe(true);
    const watch = start('watch', ...listen, '--json', '--interval', '0.1');
    const watched = await watch.until(({ stdout }) => {
      const line = lastLine(stdout);
      const isThere = fake.ranks.every(({ messages }, i) => line?.ranks[i]?.next_sequence === messages);
      return isThere && line?.ranks.every(({ degraded }) => degraded === null) ? line : undefined;
    });
    expect(watched.block_size).toBe(16);
    expect(watched.ranks).toMatchObject(
      fake.ranks.map(({ rank, endpoint, held_blocks }) => ({
        ...{ rank, endpoint, connected: true, degraded: null, restarts: 0, damaged: 0, problem: null },
        ...{ resident_blocks: held_blocks, unknown: 0, orphaned: 0, unresolved: 0 },
      })),
    );
    expect(await watch.stop()).toMatchObject({ code: 0, stderr: '' });
    expect(await process.stop('SIGTERM')).toMatchObject({ code: 0 });
  });

  it.each(['vllm-first', 'vllm-mixed', 'sglang-salted', 'tensorrt'])(
    'record and apply give what the fake engine of dialect %s holds',
    async (dialect) => {
      const options = ['--dialect', dialect, '--requests', '40', '--capacity', '1500', '--drop', '3'];
      const { fake, listen } = await served(2, ...options);
      const file = join(folder, `${dialect}.kvev.gz`);
      const messages = messagesOf(fake);
      const recorded = await kvidx([
        'events',
        'record',
        file,
        ...listen,
        '--messages',
        `${messages}`,
        '--json',
      ]);
      expect(recorded.code).toBe(0);
      expect(JSON.parse(recorded.stdout)).toMatchObject({ recording: file, messages });
      const { code, stdout, stderr } = await kvidx(['events', 'apply', file, '--json']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const applied: EventsApplied = JSON.parse(stdout);
      expect(applied).toMatchObject({ cut: null, block_size: 16, messages });
      expect(applied.ranks.map(({ rank }) => rank).sort()).toEqual(
        dialect === 'vllm-first' ? [0, 1] : [0, 1],
      );
      for (const { rank, messages, held_blocks } of fake.ranks) {
        const found = applied.ranks.find((each) => each.rank === rank)!;
        expect(found).toMatchObject({ messages, missing: 0, restarts: 0, degraded: null, bad_events: 0 });
        expect(found.resident_blocks.gpu).toBe(held_blocks.gpu);
      }
    },
  );

  it('a recording that is ended by Ctrl-C is whole', async () => {
    const { listen } = await served(1, '--requests', '20');
    const file = join(folder, 'stopped.kvev');
    const record = start('record', file, ...listen);
    await record.until(() => (existsSync(file) && readFileSync(file).length > 1000 ? true : undefined));
    const { code, stderr } = await record.stop();
    expect(code).toBe(0);
    const [, messages] = /stopped\.kvev: ([\d,]+) messages, /.exec(stderr)!;
    const applied: EventsApplied = JSON.parse((await kvidx(['events', 'apply', file, '--json'])).stdout);
    expect(applied).toMatchObject({ cut: null, messages: Number(messages!.replaceAll(',', '')) });
  });

  it('says that a replay does not reach back, all the way to the table of apply', async () => {
    const { fake, listen } = await served(1, '--requests', '20', '--buffer-steps', '50');
    const file = join(folder, 'late.kvev');
    const { stderr } = await kvidx(['events', 'record', file, ...listen, '--messages', '50']);
    expect(stderr).toMatch(/rank 0 late-start\nlate-start: the first messages were not heard/);
    const { stdout } = await kvidx(['events', 'apply', file]);
    expect(stdout).toMatch(/│ missing │/);
    expect(stdout).toMatch(/│ late-start │/);
    const missing = messagesOf(fake) - 50;
    const applied: EventsApplied = JSON.parse((await kvidx(['events', 'apply', file, '--json'])).stdout);
    expect(applied.ranks).toMatchObject([
      { missing, gaps: 1, first_sequence: missing, degraded: 'late-start' },
    ]);
  });

  it('watch prints a table at every interval where there is no terminal, with what its marks mean', async () => {
    const { listen } = await served(1, '--requests', '10');
    const nobody = `none=tcp://127.0.0.1:${await freePorts(1)}`;
    const watch = start('watch', `w=${listen[0]}`, nobody, ...listen.slice(1), '--interval', '0.2');
    await watch.until(({ stdout }) => (/│ w +│ +ok │[\s\S]*│ w +│ +ok │/.test(stdout) ? true : undefined));
    const { stdout } = await watch.stop();
    expect(stdout).toMatch(/\d\d:\d\d:\d\d UTC, blocks of 16 tokens\n/);
    expect(stdout).toMatch(/│ worker │ +state │ events\/s │ blocks\/s │ +gpu │ +lag │ +age │ gaps │/);
    expect(stdout).toMatch(/│ none +│ not connected │/);
    expect(stdout).toMatch(/\nnot connected: nothing answers at the endpoint/);
  });

  it('watch tells no rates of a time in which a replay came', async () => {
    const { fake, listen } = await served(1, '--requests', '10');
    const watch = start('watch', ...listen, '--interval', '0.1', '--json');
    const messages = messagesOf(fake);
    await watch.until(({ stdout }) =>
      lastLine(stdout)?.ranks[0]?.events_per_s === 0 &&
      lastLine(stdout)?.ranks[0]?.replayed_messages === messages
        ? true
        : undefined,
    );
    const lines: WatchedJson[] = (await watch.stop()).stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    const ranks = lines.map((line) => line.ranks[0]!);
    let before = 0;
    for (const { replayed_messages, events_per_s, blocks_per_s, lag_ms } of ranks) {
      const rate = replayed_messages > before ? null : 0;
      expect({ events_per_s, blocks_per_s, lag_ms }).toEqual({
        events_per_s: rate,
        blocks_per_s: rate,
        lag_ms: null,
      });
      before = replayed_messages;
    }
  });

  it('watch and record say what is wrong with a connection, record once', async () => {
    const stranger = await strangeServer();
    const watch = start('watch', `w=${stranger}`, '--interval', '0.1');
    await watch.until(({ stdout }) => (/\nw rank 0, last: tcp:/.test(stdout) ? true : undefined));
    await watch.stop();
    const json = start('watch', stranger, '--interval', '0.1', '--json');
    const line = await json.until(({ stdout }) => {
      const last = lastLine(stdout);
      return last?.ranks[0]?.problem ? last : undefined;
    });
    await json.stop();
    expect(line.ranks).toMatchObject([{ problem: expect.stringContaining(stranger), dropped: 0 }]);
    const file = join(folder, 'strange.kvev');
    const recorded = await kvidx(['events', 'record', file, `w=${stranger}`, '--for', '2.5', '--json']);
    expect(recorded.stderr.match(/^w rank 0: .*$/gm)).toEqual([expect.stringContaining(stranger)]);
    expect(JSON.parse(recorded.stdout).ranks).toMatchObject([
      { connected: false, dropped: 0, problem: expect.stringContaining(stranger) },
    ]);
  });

  it('watch ends by itself after --for seconds', async () => {
    const nobody = `tcp://127.0.0.1:${await freePorts(1)}`;
    const { code, stdout } = await kvidx(['events', 'watch', nobody, '--for', '0.1', '--json']);
    expect(code).toBe(0);
    expect(lastLine(stdout)).toMatchObject({
      block_size: null,
      ranks: [{ connected: false, degraded: 'unconfirmed', messages: 0, resident_blocks: {} }],
    });
  });

  it('watch says which block size an index does not take', async () => {
    const { listen } = await served(1, '--requests', '10');
    const watch = start('watch', ...listen, '--interval', '0.1', '--block-size', '64');
    await watch.until(({ stdout }) => (/│ block size │/.test(stdout) ? true : undefined));
    expect((await watch.stop()).stdout).toMatch(
      /block size: stores of blocks of 16 tokens are refused: this index has blocks of 64 tokens/,
    );
  });

  it('fake says how it is listened to, and ends with --exit', async () => {
    const port = await freePorts(3);
    const flags = ['--endpoint', `tcp://127.0.0.1:${port}`, '--ranks', '1', '--topic', 'kv ev', '--exit'];
    const { code, stdout, stderr } = await kvidx([
      'events',
      'fake',
      ...flags,
      '--requests',
      '3',
      '--rate',
      '0',
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    const listen = `tcp://127.0.0.1:${port} --replay tcp://127.0.0.1:${port + 1} --topic 'kv ev'`;
    expect(stderr).toContain(`\n  kvidx events watch ${listen}\n`);
    expect(stderr).toMatch(/served 3 requests\n {2}rank 0: \d+ messages; holds [\d,]+ blocks\n$/);
  });

  it('fake serves a trace again and again with --loop, and stops in between', async () => {
    const fake = start(
      'fake',
      '--endpoint',
      'tcp://127.0.0.1:0',
      '--loop',
      '--rate',
      '0',
      '--requests',
      '800',
    );
    const { stderr } = await fake.until((said) =>
      /replays are answered/.test(said.stderr) ? said : undefined,
    );
    expect(stderr).toMatch(/served 800 requests/);
    expect((await fake.stop()).code).toBe(0);
    const slow = start('fake', '--endpoint', 'tcp://127.0.0.1:0', '--loop', '--rate', '0.01');
    await slow.until((said) => (/kvidx events watch/.test(said.stderr) ? true : undefined));
    const stopped = await slow.stop();
    expect(stopped.code).toBe(0);
    expect(stopped.stderr).toMatch(/served [01] requests?\n/);
  });
});

// ----------------------------------------------------------------------------------------------------- recordings

const store: StoredEvent = {
  ...{ kind: 'stored', blockHashes: BigUint64Array.of(7n, 8n), parentHash: undefined, medium: 'GPU' },
  ...{ tokens: Uint32Array.of(1, 2, 3, 4), blockSize: 2, loraName: undefined, loraId: undefined },
  ...{ cacheSalt: undefined, extraKeys: undefined, groupIdx: undefined, specKind: undefined },
  ...{ slidingWindow: undefined, isBigram: false },
};

let files = 0;
async function recording(
  ...messages: readonly (readonly [sequence: number, payload: Uint8Array])[]
): Promise<string> {
  const path = join(folder, `made-${files++}.kvev`);
  const recorder = await EventRecorder.open(path);
  for (const [sequence, payload] of messages) {
    recorder.write({ worker: 'w\u001b[2J', dpRank: 0, sequence, receivedMs: 2000, payload });
  }
  await recorder.close();
  return path;
}

const stores = encodeBatch('vllm-map', { timestampMs: 1000, dpRank: 0, events: [store] });

describe('kvidx events apply', () => {
  it('begins anew where numbers do, and finds the block size', async () => {
    const removes = encodeBatch('vllm-map', {
      timestampMs: 1000,
      events: [{ kind: 'removed', blockHashes: BigUint64Array.of(8n), medium: 'GPU', groupIdx: undefined }],
    });
    const file = await recording([0, removes], [1, stores], [0, stores], [1, removes]);
    const applied: EventsApplied = JSON.parse((await kvidx(['events', 'apply', file, '--json'])).stdout);
    expect(applied).toMatchObject({ block_size: 2, messages: 4, index: { blocks: 1 }, names: 1 });
    expect(applied.ranks).toMatchObject([{ restarts: 1, resident_blocks: { gpu: 1 }, lag_ms: null }]);
  });

  it('lets nothing that is recorded drive the terminal, and shows what could not be read', async () => {
    const file = await recording([0, stores], [1, Uint8Array.of(1, 2, 3)]);
    const { stdout } = await kvidx(['events', 'apply', file]);
    expect(stdout).toContain('w\\u{1b}[2J');
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toMatch(/│ damaged │/);
    expect(stdout).toMatch(/\ndamaged: a message or event could not be read/);
    expect(stdout).toMatch(/w\\u\{1b\}\[2J rank 0, last: /);
  });

  it('says that stores of another block size are refused', async () => {
    const file = await recording([0, stores], [1, stores]);
    const { code, stdout, stderr } = await kvidx(['events', 'apply', file, '--block-size', '16']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/stores of blocks of 2 tokens are refused: this index has blocks of 16 tokens/);
    expect(stdout).toMatch(/│ refused │/);
    expect(stderr).toBe(
      'kvidx: all stores were refused (2): they are of blocks of 2 tokens, the index has blocks of 16 (--block-size)\n',
    );
  });

  it('goes on where some stores are of another block size, and counts them', async () => {
    const other = { ...store, blockHashes: BigUint64Array.of(9n), blockSize: 4 };
    const others = encodeBatch('vllm-map', { timestampMs: 1000, events: [other] });
    const file = await recording([0, stores], [1, others]);
    const { code, stdout } = await kvidx(['events', 'apply', file, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).ranks).toMatchObject([{ other_block_sizes: 1, resident_blocks: { gpu: 2 } }]);
  });

  it('applies what stands before a cut record, and says that it is cut', async () => {
    const file = await recording([0, stores], [1, stores]);
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.subarray(0, bytes.length - 3));
    const { code, stdout } = await kvidx(['events', 'apply', file]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /record 2: cut after \d+ bytes \(was its recorder killed\?\); what stands before it was applied/,
    );
    expect(JSON.parse((await kvidx(['events', 'apply', file, '--json'])).stdout)).toMatchObject({
      cut: expect.stringMatching(/record 2: cut/),
      messages: 1,
    });
  });

  it('reads standard input, and a recording of nothing', async () => {
    const input = readFileSync(await recording());
    const { code, stdout } = await kvidx(['events', 'apply', '-'], { input });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^standard input\n[\s\S]*No store was recorded/);
  });

  it.each<[string, () => string | Promise<string>, RegExp]>([
    ['no file', () => join(folder, 'none'), /none: no such file\n$/],
    ['a directory', () => folder, /this is a directory/],
    ['a trace', () => 'examples/agentic-mini.jsonl.gz', /mini\.jsonl\.gz: no recording that can be read/],
    [
      'a damaged recording',
      async () => {
        const file = await recording([0, stores], [1, stores]);
        const bytes = readFileSync(file);
        bytes[bytes.lastIndexOf('w\u001b') - 2] = 0xc1;
        writeFileSync(file, bytes);
        return file;
      },
      /made-\d+\.kvev: record 2: no record begins here\n$/,
    ],
  ])('refuses %s', async (_, file, problem) => {
    const { code, stdout, stderr } = await kvidx(['events', 'apply', await file()]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(problem);
    expect(stderr).toMatch(/^kvidx: /);
  });
});

// --------------------------------------------------------------------------------------------------------- misuse

describe('kvidx events, misused', () => {
  const A = 'tcp://127.0.0.1:5557';
  it.each<[string, readonly string[], RegExp]>([
    ['no endpoint', ['watch'], /missing required argument 'endpoint'/],
    ['no address', ['watch', 'localhost:5557'], /such as tcp:\/\/127\.0\.0\.1:5557/],
    ['an unknown scheme', ['watch', 'udp://127.0.0.1:5557'], /tcp:\/\/host:port, ipc:\/\/path/],
    ['no port', ['watch', 'tcp://127.0.0.1'], /tcp:\/\/host:port/],
    [
      'a port that is none',
      ['watch', 'tcp://127.0.0.1:99999'],
      /It must be an address with a port from 1 to 65535, got "tcp:\/\/127\.0\.0\.1:99999"/,
    ],
    [
      'all hosts',
      ['watch', 'tcp://*:5557'],
      /the endpoint must be an address with the host to connect to in place of \*/,
    ],
    ['any address', ['watch', 'tcp://0.0.0.0:5557'], /host to connect to in place of 0\.0\.0\.0/],
    ['any address for replays', ['watch', A, '--replay', 'tcp://[::]:1'], /to connect to in place of \[::\]/],
    ['a port beyond the last', ['watch', 'tcp://127.0.0.1:65535', '--ranks', '2'], /port from 1 to 65535/],
    ['one engine twice', ['watch', A, A], /two engines are called 127\.0\.0\.1:5557: name them/],
    ['more replays than engines', ['watch', A, '--replay', A, '--replay', A], /given 2 times, for 1 engines/],
    ['a replay of nobody', ['watch', A, '--replay', `w=${A}`], /names w, and no engine is called so/],
    ['no time', ['watch', A, '--for', '0'], /Give a number from 0\.01/],
    ['no file', ['record', A, A], /first the file to write, then the endpoints/],
    ['standard output', ['record', '-', A], /first the file to write/],
    ['an unknown dialect', ['fake', '--dialect', 'vllm'], /Allowed choices are vllm-first/],
    ['an address of no host', ['fake', '--endpoint', '5557'], /such as tcp:\/\/127\.0\.0\.1:5557/],
    [
      'common ports',
      ['fake', '--ranks', '2', '--replay-endpoint', 'tcp://127.0.0.1:5558'],
      /ports in common/,
    ],
    [
      'free ports in a row',
      ['fake', '--ranks', '2', '--endpoint', 'tcp://127.0.0.1:0'],
      /port 0 is for one rank/,
    ],
    ['a loop that is to end', ['fake', '--loop', '--exit'], /--loop never ends/],
    [
      'tiers of a dialect without them',
      ['fake', '--dialect', 'vllm-rank', '--offload', '10'],
      /dialect vllm-rank does not tell of tiers. These do: vllm-medium, .*sglang-7, .*tensorrt\n/,
    ],
    ['more than all', ['fake', '--drop', '101'], /Give a number from 0 to 100/],
  ])('refuses %s', async (_, args, problem) => {
    const { code, stdout, stderr } = await kvidx(['events', ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(problem);
  });

  it('says how to give the block size of a trace whose rows do not tell it', async () => {
    const trace = join(folder, 'unclear.jsonl');
    writeFileSync(trace, '{"input_length":100,"hash_ids":[1,2]}\n');
    const { code, stderr } = await kvidx(['events', 'fake', '--trace', trace]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/not exactly one block size fits[\s\S]*--trace-block-size here\)\n$/);
    const given = ['--endpoint', 'tcp://127.0.0.1:0', '--trace', trace, '--trace-block-size', '64', '--exit'];
    expect((await kvidx(['events', 'fake', ...given])).stderr).toMatch(/served 1 request\n/);
  });

  it('says which address is taken', async () => {
    const { endpoint } = await served(1, '--requests', '1');
    const { code, stderr } = await kvidx(['events', 'fake', '--endpoint', endpoint]);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `kvidx: cannot bind ${endpoint} to publish: Address already in use (--endpoint and --replay-endpoint choose others)\n`,
    );
    const port = Number(endpoint.split(':').at(-1));
    const replay = ['--replay-endpoint', `tcp://127.0.0.1:${port + 1}`];
    const other = await kvidx(['events', 'fake', '--endpoint', 'tcp://127.0.0.1:0', ...replay]);
    expect(other.stderr).toMatch(
      `cannot bind tcp://127.0.0.1:${port + 1} for replays: Address already in use`,
    );
    const watch = await kvidx(['events', 'watch', '--bind', endpoint]);
    expect(watch).toMatchObject({ code: 1, stdout: '' });
    expect(watch.stderr).toMatch(
      `kvidx: cannot listen at ${endpoint}: Address already in use (--bind listens`,
    );
  });

  it.each([
    ['/nonexistent/x.kvev', 'no such directory'],
    [folder, 'this is a directory; give a file'],
  ])('says that %s cannot be written: %s', async (file, problem) => {
    const { code, stderr } = await kvidx(['events', 'record', file, A]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: `kvidx: cannot write ${file}: ${problem}\n` });
  });

  it('says that nothing was heard, and leaves the file that is there', async () => {
    const nobody = `tcp://127.0.0.1:${await freePorts(1)}`;
    const file = join(folder, 'earlier.kvev');
    for (const earlier of [undefined, 'an earlier night']) {
      if (earlier !== undefined) writeFileSync(file, earlier);
      const { code, stdout, stderr } = await kvidx([
        ...['events', 'record', file, nobody],
        ...['--for', '0.1', '--json'],
      ]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/\nkvidx: nothing was heard: .*earlier\.kvev was not written\n$/);
      expect(JSON.parse(stdout)).toMatchObject({ recording: null, messages: 0, bytes: 0 });
      expect(existsSync(file) ? readFileSync(file, 'utf8') : undefined).toBe(earlier);
    }
  });

  it.runIf(existsSync('/dev/full'))('ends when the disk is full', async () => {
    const { listen } = await served(1, '--requests', '5');
    const { code, stderr } = await kvidx(['events', 'record', '/dev/full', ...listen]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/kvidx: cannot write \/dev\/full: ENOSPC/);
  });

  it.each([
    ['fake', ['fake', '--endpoint', 'tcp://127.0.0.1:0']],
    ['watch', ['watch', A]],
    ['record', ['record', join(folder, 'without-zeromq'), A]],
  ])('%s says that the package zeromq is not there', async (_, args) => {
    const hook = `export const resolve = (name, context, next) => { if (name === 'zeromq') throw new Error('none'); return next(name, context); };`;
    const load = `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hook))});`;
    const env = { NODE_OPTIONS: `--import=${dataUrl(load)}` };
    const { code, stderr } = await kvidx(['events', ...args], { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^kvidx: .*the package zeromq, which does not load: npm install zeromq\n$/m);
  });
});

function dataUrl(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

describe('kvidx events --help', () => {
  it.each<[string, readonly string[], readonly RegExp[]]>([
    ['the group', [], [/watch.*record.*apply.*fake/, /\$ kvidx events fake/]],
    [
      'watch',
      ['watch'],
      [/\[name=\]endpoint/, /--replay <endpoint>/, /default: nowhere/, /--kv-events-config/, /--json/],
    ],
    [
      'record',
      ['record'],
      [/--for <seconds>/, /--messages <n>/, /A file that is there is replaced by the first message/],
    ],
    ['apply', ['apply'], [/--block-size <tokens>/, /default: that of the first store/]],
    [
      'fake',
      ['fake'],
      [/vllm-map .*v0\.24: events as maps/, /tensorrt /, /--exit/, /Needs the package zeromq/],
    ],
  ])('tells of %s', async (_, args, parts) => {
    const { code, stdout } = await kvidx(['events', ...args, '--help']);
    expect(code).toBe(0);
    const text = stdout.replace(/\s+/g, ' ');
    for (const part of parts) expect(text).toMatch(part);
  });
});
