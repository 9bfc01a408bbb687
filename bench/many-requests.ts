import { MODE, type Seam } from '../src/native/seam.js';
import { counted } from '../src/text.js';
import { openIndex } from './backends.js';
import type { Figure } from './figures.js';
import type { ScenarioContext } from './harness.js';
import { makePrompts } from './prompts.js';
import { Race, type Rival } from './race.js';
import { Random } from './random.js';
import { storeInShortRuns } from './short-runs.js';

const SLOTS = 64;
const REQUESTS = 64;
const RUNS = 24;
/** Blocks of a run. */
const RUN_BLOCKS = 16;

/** Requests that wait for a decision together, each of many short runs: in one call, and one by one. */
export function raceManyRequests({ quick, check }: ScenarioContext, native: Seam): Figure[] {
  const blocks = RUNS * RUN_BLOCKS;
  const prompts = makePrompts({ slots: SLOTS, sessions: quick ? 600 : 12_000, blocks, shared: RUN_BLOCKS });
  const index = openIndex(native, SLOTS);
  storeInShortRuns(index, prompts, RUNS, (session) => session % SLOTS);
  const rows = new Uint32Array(REQUESTS * SLOTS);
  const singly = new Uint32Array(REQUESTS * SLOTS);
  const row = Array.from({ length: REQUESTS }, (_, k) => singly.subarray(k * SLOTS, (k + 1) * SLOTS));

  const rival = (run: (requests: BigUint64Array[]) => void): Rival => {
    const order = new Random(31).permutation(prompts.sessions.length);
    const requests = Array.from({ length: REQUESTS }, () => new BigUint64Array(blocks));
    let at = 0;
    return {
      operations: REQUESTS,
      prepare() {
        for (const request of requests) {
          at = at + 1 === order.length ? 0 : at + 1;
          request.set(prompts.sessions[order[at]!]!);
        }
      },
      run: () => run(requests),
    };
  };
  const rivals = {
    many: rival((requests) => index.overlapMany(requests, MODE.prefix, rows)),
    one: rival((requests) => {
      for (let k = 0; k < REQUESTS; k++) index.overlap(requests[k]!, MODE.prefix, row[k]!);
    }),
  };
  for (const { prepare, run } of Object.values(rivals)) {
    prepare!();
    run();
  }
  check(
    `${REQUESTS} requests at once and one by one: equal overlaps`,
    rows.every((held, at) => held === singly[at]) &&
      rows.filter((held) => held === blocks).length === REQUESTS,
  );
  const race = new Race(rivals, quick ? { rounds: 2, roundMs: 8, samples: 16 } : { rounds: 5, roundMs: 150 });
  index.close();
  const name = `${REQUESTS} requests of ${RUNS} runs of ${counted(RUN_BLOCKS, 'block')}`;
  return [
    {
      name: `${name}: one by one ÷ overlapMany`,
      unit: 'x',
      ...race.ratio('one', 'many'),
      better: 'higher',
      target: { atLeast: 1.8 },
    },
    race.time('many', `${name}: overlapMany`, 'µs/query'),
    race.time('one', `${name}: one by one`, 'µs/query'),
  ];
}
