import { type CoreIndex, MODE, RESULT_LENGTH, type Seam } from '../../src/native/seam.js';
import { counted } from '../../src/text.js';
import { benchAddon, type FlatTable, nativeSeam, openIndex, referenceSeam } from '../backends.js';
import { raceCrowdedRun } from '../crowded-run.js';
import type { Figure } from '../figures.js';
import { runScenario, type ScenarioContext } from '../harness.js';
import {
  makePrompts,
  type Prompts,
  rotating,
  type StoreCall,
  storeArguments,
  turnByTurn,
  wholePrompts,
} from '../prompts.js';
import { Race } from '../race.js';
import { Random } from '../random.js';
import { median } from '../statistics.js';

const result = new Float64Array(RESULT_LENGTH);

await runScenario('index', async (context) => {
  const { quick, progress } = context;
  const native = nativeSeam();
  const sizes = { slots: 64, sessions: quick ? 128 : 2000, blocks: 2818, shared: 500 };
  const prompts = makePrompts(sizes);
  const figures: Figure[] = [
    { name: 'blocks in the index', value: prompts.blocks, unit: 'blocks' },
    { name: 'blocks a query', value: sizes.blocks, unit: 'blocks' },
  ];

  for (const [layout, calls] of [
    ['whole prompts', wholePrompts(prompts)],
    ['turn by turn', turnByTurn(prompts)],
  ] as const) {
    progress(`storing ${layout}, ${calls.length} calls`);
    const { index, flat, store } = buildBoth(native, prompts, calls, quick ? 1 : 3);
    const residency = residencyMemory(index);
    progress(`owning ${layout}`);
    const owners = ownAll(index, prompts, calls);
    progress(`querying ${layout}`);
    const queries = raceQueries(context, layout, prompts, index, owners, flat);
    const all = [...queries, ...store, ...residency, ...ownershipMemory(index)];
    figures.push(...all.map((figure) => ({ ...figure, name: `${layout}: ${figure.name}` })));
    index.close();
  }

  progress('querying the Map twin');
  figures.push(...(await raceTwin(context, native)));
  figures.push(...furtherHolders(native, quick ? 500 : 5000), ...raceCrowdedRun(context, native));
  return figures;
});

// -------------------------------------------------------------------------------------------------------- building

interface Built {
  readonly index: CoreIndex;
  readonly flat: FlatTable;
  readonly store: Figure[];
}

/** Builds both, call by call in turns, several times; the last pair stays. */
function buildBoth(native: Seam, prompts: Prompts, calls: readonly StoreCall[], rounds: number): Built {
  const nsABlock = { index: [] as number[], flat: [] as number[] };
  const ratios: number[] = [];
  for (let round = 1; ; round++) {
    const index = openIndex(native, prompts.slots);
    const flat = benchAddon().createFlatTable();
    let indexNs = 0;
    let flatNs = 0;
    for (const [i, call] of calls.entries()) {
      const { slot, seq, parent } = storeArguments(prompts, call);
      const flatFirst = i % 2 === 0;
      if (flatFirst) flatNs += elapsed(() => flat.insert(slot, seq));
      indexNs += elapsed(() => index.store(slot, index.incarnation(slot), seq, parent, 0, result));
      if (!flatFirst) flatNs += elapsed(() => flat.insert(slot, seq));
    }
    const stored = calls.reduce((sum, { from, to }) => sum + to - from, 0);
    nsABlock.index.push(indexNs / stored);
    nsABlock.flat.push(flatNs / stored);
    ratios.push(indexNs / flatNs);
    if (round < rounds) {
      index.close();
      continue;
    }
    const range = [Math.min(...ratios), Math.max(...ratios)] as const;
    const store: Figure[] = [
      { name: 'store ÷ flat insert', value: median(ratios), unit: 'x', range, target: { atMost: 1.5 } },
      { name: 'store', value: median(nsABlock.index), unit: 'ns/block' },
      { name: 'flat insert', value: median(nsABlock.flat), unit: 'ns/block' },
    ];
    return { index, flat, store };
  }
}

function elapsed(body: () => void): number {
  const start = process.hrtime.bigint();
  body();
  return Number(process.hrtime.bigint() - start);
}

/**
 * After each stored piece the session owns its prompt so far, as a router would have it. Answers the number of each
 * session.
 */
function ownAll(index: CoreIndex, prompts: Prompts, calls: readonly StoreCall[]): Uint32Array {
  const numbers = new Uint32Array(prompts.sessions.length);
  for (const { session, to } of calls) {
    const seq = prompts.sessions[session]!.subarray(0, to);
    numbers[session] = index.own(numbers[session]!, seq, 0, result);
  }
  return numbers;
}

// ---------------------------------------------------------------------------------------------------------- memory

function residencyMemory(index: CoreIndex): Figure[] {
  const { blocks, usedBytes, reservedBytes, runs } = index.stats();
  const unit = 'bytes/block';
  const target = { atMost: 26 };
  return [
    { name: 'used, one holder', value: usedBytes / blocks, unit, target },
    { name: 'reserved, one holder', value: reservedBytes / blocks, unit, target },
    { name: 'blocks a run', value: blocks / runs, unit: 'blocks' },
  ];
}

function ownershipMemory(index: CoreIndex): Figure[] {
  const { blocks, ownershipBytes, sessions } = index.stats();
  return [
    { name: 'ownership', value: ownershipBytes / blocks, unit: 'bytes/block' },
    { name: 'ownership', value: ownershipBytes / sessions, unit: 'bytes/session' },
  ];
}

/** Runs of one turn's length, held by one slot; then by 15 more, the whole run or a prefix of it. */
function furtherHolders(native: Seam, runs: number): Figure[] {
  const slots = 16;
  const blocks = 36;
  const random = new Random(13);
  const prompts = Array.from({ length: runs }, () => random.hashes(blocks));
  const cost = (held: number): number => {
    const index = openIndex(native, slots);
    for (const seq of prompts) index.store(0, index.incarnation(0), seq, undefined, 0, result);
    const before = index.stats();
    for (let slot = 1; slot < slots; slot++) {
      for (const seq of prompts)
        index.store(slot, index.incarnation(slot), seq.subarray(0, held), undefined, 0, result);
    }
    const after = index.stats();
    index.close();
    return (after.usedBytes - before.usedBytes) / (after.runHolders - before.runHolders);
  };
  const unit = 'bytes/(run, holder)';
  return [
    { name: 'further holder of a whole run', value: cost(blocks), unit, target: { atMost: 16 } },
    { name: 'further holder of half a run', value: cost(blocks / 2), unit, target: { atMost: 16 } },
  ];
}

// --------------------------------------------------------------------------------------------------------- queries

function raceQueries(
  { quick, check }: ScenarioContext,
  layout: string,
  prompts: Prompts,
  index: CoreIndex,
  owners: Uint32Array,
  flat: FlatTable,
): Figure[] {
  const out = new Uint32Array(prompts.slots);
  const fair = new Float64Array(prompts.slots);
  const flatOut = new Uint32Array(prompts.slots);
  const equal = prompts.sessions.every((seq) => {
    index.overlap(seq, MODE.prefix, out);
    flat.overlap(seq, flatOut);
    return out.every((blocks, slot) => blocks === flatOut[slot]);
  });
  check(
    `${layout}: index and flat table give equal overlaps for all ${prompts.sessions.length} sessions`,
    equal,
  );
  const exclusive = prompts.sessions.every((seq, session) => {
    index.exclusiveOverlap(owners[session]!, seq, MODE.prefix, 1, out);
    return out.every(
      (blocks, slot) => blocks === (slot === session % prompts.slots ? seq.length - prompts.shared : 0),
    );
  });
  check(`${layout}: exclusive overlap of every session is its own blocks on its own slot`, exclusive);

  const race = new Race(
    {
      flat: rotating(prompts, (seq) => flat.overlap(seq, flatOut)),
      overlap: rotating(prompts, (seq) => index.overlap(seq, MODE.prefix, out)),
      exclusive: rotating(prompts, (seq, session) =>
        index.exclusiveOverlap(owners[session]!, seq, MODE.prefix, 1, out),
      ),
      fair: rotating(prompts, (seq) => index.fairOverlap(seq, fair)),
    },
    { rounds: quick ? 2 : 10, roundMs: quick ? 20 : 200 },
  );
  return [
    { name: 'flat table ÷ overlap', unit: 'x', ...race.ratio('flat', 'overlap'), target: { atLeast: 20 } },
    {
      name: 'exclusive ÷ overlap',
      unit: 'x',
      ...race.ratio('exclusive', 'overlap'),
      target: { atMost: 1.3 },
    },
    { name: 'fair ÷ overlap', unit: 'x', ...race.ratio('fair', 'overlap'), target: { atMost: 1.3 } },
    { name: 'overlap', value: race.medianNs('overlap') / 1000, unit: 'µs/query' },
    { name: 'flat table', value: race.medianNs('flat') / 1000, unit: 'µs/query' },
  ];
}

/** The same queries through the same seam, at a size that the twin can hold. */
async function raceTwin({ quick, check }: ScenarioContext, native: Seam): Promise<Figure[]> {
  const prompts = makePrompts({ slots: 64, sessions: quick ? 16 : 128, blocks: 2818, shared: 500 });
  const reference = await referenceSeam();
  const [index, twin] = [native, reference].map((seam) => {
    const made = openIndex(seam, prompts.slots);
    for (const call of wholePrompts(prompts)) {
      const { slot, seq, parent } = storeArguments(prompts, call);
      made.store(slot, made.incarnation(slot), seq, parent, 0, result);
    }
    return made;
  }) as [CoreIndex, CoreIndex];
  const out = new Uint32Array(prompts.slots);
  const twinOut = new Uint32Array(prompts.slots);
  const equal = prompts.sessions.every((seq) => {
    index.overlap(seq, MODE.prefix, out);
    twin.overlap(seq, MODE.prefix, twinOut);
    return out.every((blocks, slot) => blocks === twinOut[slot]);
  });
  check(`index and Map twin give equal overlaps for all ${prompts.sessions.length} sessions`, equal);
  const race = new Race(
    {
      twin: rotating(prompts, (seq) => twin.overlap(seq, MODE.prefix, twinOut)),
      overlap: rotating(prompts, (seq) => index.overlap(seq, MODE.prefix, out)),
    },
    { rounds: quick ? 2 : 6, roundMs: quick ? 20 : 200 },
  );
  return [
    {
      name: `Map twin ÷ overlap, ${counted(prompts.blocks, 'block')}`,
      unit: 'x',
      ...race.ratio('twin', 'overlap'),
      target: { atLeast: 100 },
    },
    { name: 'Map twin', value: race.medianNs('twin') / 1000, unit: 'µs/query' },
  ];
}
