import { type CoreIndex, MODE, RESULT_LENGTH, type Seam } from '../src/native/seam.js';
import { grouped } from '../src/text.js';
import { openIndex } from './backends.js';
import type { Figure } from './figures.js';
import type { ScenarioContext } from './harness.js';
import { Race, type Rival } from './race.js';
import { Random } from './random.js';

const SLOTS = 64;
const SHARED = 500;
/** The children that are asked for, and of the second index all that its run has. */
const FEW = 5;
/** Queries before each sample, so that of the children asked for nothing is in the first two caches any more. */
const COOLING = 200;

/**
 * A run that thousands of sessions go on from, against one that five go on from: as many blocks, in indexes alike, the same
 * five children asked for. What all share is warm in both, the children are cold.
 */
export function raceFanOut({ quick, check }: ScenarioContext, native: Seam): Figure[] {
  const sessions = quick ? 250 : 5000;
  const blocks = SHARED + 920;
  const random = new Random(29);
  const [head, otherHead] = [random.hashes(SHARED), random.hashes(SHARED)];
  const tails = Array.from({ length: sessions }, () => random.hashes(blocks - SHARED));
  const prompt = (start: BigUint64Array, tail: BigUint64Array) => {
    const seq = new BigUint64Array(blocks);
    seq.set(start);
    seq.set(tail, SHARED);
    return seq;
  };
  // The first session's blocks lie in one run with the shared ones: it is none of the five.
  const isAsked = (session: number) => session >= 1 && session <= FEW;
  const out = new Uint32Array(SLOTS);
  const shape = (headOf: (session: number) => BigUint64Array): Rival & { index: CoreIndex } => {
    const index = openIndex(native, SLOTS);
    const prompts = tails.map((tail, session) => prompt(headOf(session), tail));
    storeAll(index, prompts, [head, otherHead]);
    const asked = prompts.slice(1, 1 + FEW);
    const others = prompts.filter((_, session) => session > FEW);
    let at = 0;
    return {
      index,
      operations: FEW,
      prepare() {
        for (let k = 0; k < COOLING; k++) {
          at = at + 1 < others.length ? at + 1 : 0;
          index.overlap(others[at]!, MODE.prefix, out);
        }
        index.overlap(head, MODE.prefix, out);
        for (const seq of asked) seq.set(seq.slice()); // a router has just hashed them
      },
      run() {
        for (let k = 0; k < FEW; k++) index.overlap(asked[k]!, MODE.prefix, out);
      },
    };
  };
  const rivals = {
    many: shape(() => head),
    few: shape((session) => (isAsked(session) ? head : otherHead)),
  };
  check(
    `${grouped(sessions)} children and ${FEW} behind one run: equal overlaps`,
    Array.from({ length: FEW }, (_, k) => prompt(head, tails[1 + k]!)).every((seq, k) =>
      [rivals.many, rivals.few].every(({ index }) => {
        index.overlap(seq, MODE.prefix, out);
        return out.every((held, slot) => held === (slot === 1 + k ? blocks : SHARED));
      }),
    ),
  );
  const race = new Race(rivals, quick ? { rounds: 2, roundMs: 8, samples: 16 } : { rounds: 5, roundMs: 200 });
  for (const { index } of Object.values(rivals)) index.close();
  const name = `${grouped(sessions)} children behind a run`;
  return [
    {
      name: `${name} ÷ ${FEW}`,
      unit: 'x',
      ...race.ratio('many', 'few'),
      better: 'lower',
      target: { atMost: 1.15 },
    },
    race.time('many', `${name}: overlap`, 'µs/query'),
  ];
}

/** Each prompt on a slot of its own turn; both heads on every slot. */
function storeAll(
  index: CoreIndex,
  prompts: readonly BigUint64Array[],
  heads: readonly BigUint64Array[],
): void {
  const result = new Float64Array(RESULT_LENGTH);
  const store = (slot: number, seq: BigUint64Array) =>
    void index.store(slot, index.incarnation(slot), seq, undefined, 0, result);
  for (const [session, seq] of prompts.entries()) store(session % SLOTS, seq);
  for (let slot = 0; slot < SLOTS; slot++) for (const seq of heads) store(slot, seq);
}
