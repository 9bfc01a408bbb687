import { type CoreIndex, MODE, RESULT_LENGTH, type Seam } from '../src/native/seam.js';
import { counted } from '../src/text.js';
import { benchAddon, openIndex } from './backends.js';
import type { Figure } from './figures.js';
import type { ScenarioContext } from './harness.js';
import { type Prompts, rotating } from './prompts.js';
import { Race } from './race.js';
import { storeInShortRuns } from './short-runs.js';

/** A crowd: many slots, some of which hold the shared run. */
const CROWD_SLOTS = 1000;
const CROWD_HOLDERS = 200;
/** Stretches of a query on agentic-48 where runs do not grow in place. */
const SHORT_RUNS = 35;

/**
 * One prompt in three shapes of index, against what no query can do without: comparing its bytes with others that lie
 * cold, in a call with two arrays.
 */
export function raceShapes({ quick, check }: ScenarioContext, native: Seam, prompts: Prompts): Figure[] {
  const crowdSlot = (session: number) => (session % CROWD_HOLDERS) * (CROWD_SLOTS / CROWD_HOLDERS);
  const fleet = { index: openIndex(native, prompts.slots), slotOf: (s: number) => s % prompts.slots };
  const crowd = { index: openIndex(native, CROWD_SLOTS), slotOf: crowdSlot };
  const scattered = { index: openIndex(native, CROWD_SLOTS), slotOf: crowdSlot };
  for (const { index, slotOf } of [fleet, crowd]) storeWhole(index, prompts, slotOf);
  storeInShortRuns(scattered.index, prompts, SHORT_RUNS, scattered.slotOf);
  const copies = benchAddon().createColdCopies();
  for (const seq of prompts.sessions) copies.add(seq);

  const out = new Uint32Array(CROWD_SLOTS);
  const few = new Uint32Array(prompts.slots);
  for (const [name, { index, slotOf }] of Object.entries({ fleet, crowd, scattered })) {
    const answer = index === fleet.index ? few : out;
    const own = new Set(prompts.sessions.map((_, session) => slotOf(session)));
    check(
      `${name}: each session's slot holds its whole prompt, every other one what all share`,
      prompts.sessions.every((seq, session) => {
        index.overlap(seq, MODE.prefix, answer);
        return answer.every(
          (blocks, slot) =>
            blocks === (slot === slotOf(session) ? seq.length : own.has(slot) ? prompts.shared : 0),
        );
      }),
    );
  }
  const equal = new Uint32Array(1);
  const race = new Race(
    {
      memcmp: {
        baseline: true,
        ...rotating(prompts, (seq, session) => {
          equal[0] = session;
          copies.compare(seq, equal);
        }),
      },
      fleet: rotating(prompts, (seq) => fleet.index.overlap(seq, MODE.prefix, few)),
      crowd: rotating(prompts, (seq) => crowd.index.overlap(seq, MODE.prefix, out)),
      scattered: rotating(prompts, (seq) => scattered.index.overlap(seq, MODE.prefix, out)),
    },
    quick ? { rounds: 2, roundMs: 8, samples: 16 } : { rounds: 5, roundMs: 100 },
  );
  check('a copy compared equals its prompt', equal[0] === prompts.sessions[0]!.length);
  for (const { index } of [fleet, crowd, scattered]) index.close();
  const slots = counted(prompts.slots, 'slot');
  const many = `${counted(CROWD_SLOTS, 'slot')}, ${CROWD_HOLDERS} of them hold the shared run`;
  return [
    {
      name: 'overlap ÷ cold memcmp and a call with two arrays',
      unit: 'x',
      ...race.ratio('fleet', 'memcmp'),
      better: 'lower',
      target: { atMost: 1.5 },
    },
    {
      name: `${many} ÷ ${slots}`,
      unit: 'x',
      ...race.ratio('crowd', 'fleet'),
      better: 'lower',
      target: { atMost: 1.6 },
    },
    {
      name: `${many}, ${SHORT_RUNS} runs a prompt ÷ ${slots}`,
      unit: 'x',
      ...race.ratio('scattered', 'fleet'),
      better: 'lower',
      target: { atMost: 3 },
    },
    race.time('memcmp', 'cold memcmp and a call with two arrays', 'µs/query'),
    race.time('fleet', `overlap, ${slots}`, 'µs/query'),
    race.time('crowd', `overlap, ${counted(CROWD_SLOTS, 'slot')}`, 'µs/query'),
    race.time('scattered', `overlap, ${counted(CROWD_SLOTS, 'slot')}, ${SHORT_RUNS} runs`, 'µs/query'),
  ];
}

function storeWhole(index: CoreIndex, { sessions }: Prompts, slotOf: (session: number) => number): void {
  const result = new Float64Array(RESULT_LENGTH);
  for (const [session, seq] of sessions.entries()) {
    const slot = slotOf(session);
    index.store(slot, index.incarnation(slot), seq, undefined, 0, result);
  }
}
