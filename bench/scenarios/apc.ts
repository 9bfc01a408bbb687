import { execFileSync } from 'node:child_process';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ApcResult } from '../../src/analysis/request-log.js';
import type { Seam } from '../../src/native/seam.js';
import { counted } from '../../src/text.js';
import { BlockSizeCheck } from '../../src/trace/block-size.js';
import { TraceReader } from '../../src/trace/trace-reader.js';
import { nativeSeam } from '../backends.js';
import type { Target } from '../figures.js';
import { runScenario } from '../harness.js';
import type { PlainOutput } from '../plain-apc.js';
import { elapsedNs, ratioOf, timesFigure } from '../race.js';

const KVIDX = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
const PLAIN = fileURLToPath(new URL('../plain-apc.js', import.meta.url));
/** Blocks named from which targets are held: in a small trace starting takes longer than counting. */
const ENOUGH_BLOCKS = 1_000_000;
const CURVE = '1000,2000,5000,10000,20000,50000,100000';

await runScenario('apc', async ({ quick, trace, progress, check, note }) => {
  const seam = nativeSeam();
  const { requests, blocks, blockSize } = await readIds(trace);
  if (blockSize === undefined) {
    note(`nothing is timed: not exactly one block size fits every row of ${trace}`);
    return [];
  }
  const size = String(blockSize);
  const kvidx = [KVIDX, 'apc', trace, '--json', '--block-size', size];
  const commands = {
    nothing: { args: ['--eval', ''], baseline: true },
    plain: { args: [PLAIN, trace, size], baseline: true },
    kvidx: { args: kvidx },
    curve: { args: [...kvidx, '--curve', CURVE] },
  } as const;
  const found: ApcResult = JSON.parse(node(kvidx));
  const { counting_ms: _, ...figures }: PlainOutput = JSON.parse(node(commands.plain.args));
  check(
    `${basename(trace)}, ${counted(requests.length, 'request')}: both find the same ${Object.keys(figures).join(', ')}`,
    Object.entries(figures).every(([name, value]) => found[name as keyof ApcResult] === value),
  );

  progress(`${basename(trace)}: whole commands, and counting`);
  type Name = keyof typeof commands;
  const names = Object.keys(commands) as Name[];
  const wholeMs: Record<Name, number[]> = { nothing: [], plain: [], kvidx: [], curve: [] };
  const countingNs = { plain: [] as number[], kvidx: [] as number[] };
  const rounds = quick ? 1 : 5;
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const { args, ...timing } = commands[name];
      let output = '';
      const ns = elapsedNs(() => {
        output = node(args);
      }, timing);
      wholeMs[name].push(ns / 1e6);
      if (name === 'plain')
        countingNs.plain.push(((JSON.parse(output) as PlainOutput).counting_ms * 1e6) / blocks);
    }
    countingNs.kvidx.push(elapsedNs(() => count(seam, requests)) / blocks);
  }
  const held = (target: Target) => (blocks >= ENOUGH_BLOCKS ? { target } : {});
  return [
    {
      name: 'whole command: plain JavaScript ÷ kvidx',
      unit: 'x',
      ...ratioOf(wholeMs.plain, wholeMs.kvidx),
      ...held({ atLeast: 2.5 }),
      better: 'higher',
    },
    {
      name: 'counting: plain JavaScript ÷ kvidx',
      unit: 'x',
      ...ratioOf(countingNs.plain, countingNs.kvidx),
      ...held({ atLeast: 8 }),
      better: 'higher',
    },
    {
      name: 'whole command: with --curve ÷ without',
      unit: 'x',
      ...ratioOf(wholeMs.curve, wholeMs.kvidx),
      ...held({ atMost: 1.15 }),
      better: 'lower',
    },
    timesFigure('whole command: kvidx', 'ms', wholeMs.kvidx, 'lower'),
    timesFigure('whole command: kvidx, with --curve', 'ms', wholeMs.curve, 'lower'),
    { ...timesFigure('whole command: plain JavaScript', 'ms', wholeMs.plain, 'lower'), baseline: true },
    {
      ...timesFigure('whole command: a node that does nothing', 'ms', wholeMs.nothing, 'lower'),
      baseline: true,
    },
    timesFigure('counting: kvidx', 'ns/block', countingNs.kvidx, 'lower'),
    { ...timesFigure('counting: plain JavaScript', 'ns/block', countingNs.plain, 'lower'), baseline: true },
    { name: 'requests', value: requests.length, unit: 'requests' },
    { name: 'blocks named', value: blocks, unit: 'blocks' },
  ];
});

/** Runs node, and answers what it prints. */
function node(args: readonly string[]): string {
  return execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

interface Request {
  readonly session: string | undefined;
  readonly ids: BigUint64Array;
}

/** Block size: the only one that fits every row; undefined when none or several do. */
async function readIds(
  trace: string,
): Promise<{ requests: Request[]; blocks: number; blockSize: number | undefined }> {
  const requests: Request[] = [];
  const sizes = new BlockSizeCheck();
  let blocks = 0;
  for await (const { line, sessionId, inputLength, hashIds } of new TraceReader(trace)) {
    requests.push({ session: sessionId, ids: hashIds });
    sizes.add(inputLength, hashIds.length, line);
    blocks += hashIds.length;
  }
  try {
    return { requests, blocks, blockSize: sizes.verdict(trace).blockSize };
  } catch {
    return { requests, blocks, blockSize: undefined };
  }
}

/** What the command does with the ids of its rows. */
function count(seam: Seam, requests: readonly Request[]): void {
  const numbers = new Map<string, number>();
  const counter = seam.createApcCounter(new Float64Array(0));
  const hits = new Uint32Array(2);
  for (const { session, ids } of requests) {
    let number = 0;
    if (session !== undefined) {
      number = numbers.get(session) ?? numbers.size + 1;
      numbers.set(session, number);
    }
    counter.add(number, ids, hits);
  }
  counter.close();
}
