import { KvIndex } from '../src/kv-index/index.js';
import { counted } from '../src/text.js';
import type { Figure } from './figures.js';
import type { ScenarioContext } from './harness.js';
import type { Prompts } from './prompts.js';
import { elapsedNs, ratioOf, timesFigure } from './race.js';

/**
 * A snapshot of an index whose sessions own their prompts, and its restoration, against storing the prompts in an empty index
 * and owning them again, each in one call. All through `KvIndex`, in turns; a first round only warms up.
 */
export function raceSnapshots({ quick, check }: ScenarioContext, prompts: Prompts): Figure[] {
  const index = storedAgain(prompts);
  const rounds = quick ? 3 : 7;
  const ns = { store: [] as number[], snapshot: [] as number[], restore: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    const counts = round > 0;
    const timed = (list: number[], body: () => void) => {
      const took = elapsedNs(body);
      if (counts) list.push(took / prompts.blocks);
    };
    timed(ns.store, () => storedAgain(prompts).close());
    let bytes: Uint8Array = new Uint8Array();
    timed(ns.snapshot, () => {
      bytes = index.snapshot();
    });
    const restored = new KvIndex();
    timed(ns.restore, () => restored.restore(bytes));
    if (!counts) checkEqual(check, prompts, index, restored);
    restored.close();
  }
  index.close();
  const blocks = counted(prompts.blocks, 'block');
  return [
    {
      name: `${blocks}: storing them again ÷ snapshot`,
      unit: 'x',
      ...ratioOf(ns.store, ns.snapshot),
      target: { atLeast: 3 },
    },
    {
      name: `${blocks}: storing them again ÷ restore`,
      unit: 'x',
      ...ratioOf(ns.store, ns.restore),
      target: { atLeast: 1.1 },
    },
    timesFigure(`${blocks}: snapshot`, 'ns/block', ns.snapshot, 'lower'),
    timesFigure(`${blocks}: restore`, 'ns/block', ns.restore, 'lower'),
    timesFigure(`${blocks}: storing them again, with owners`, 'ns/block', ns.store, 'lower'),
  ];
}

function storedAgain({ slots, sessions }: Prompts): KvIndex {
  const index = new KvIndex();
  const workers = Array.from({ length: slots }, (_, slot) => index.addWorker(`worker ${slot}`));
  const options = { nowMs: 0 };
  for (const [session, seq] of sessions.entries()) {
    index.store(workers[session % slots]!, seq, options);
    index.own(`session ${session}`, seq, options);
  }
  return index;
}

function checkEqual(
  check: ScenarioContext['check'],
  { slots, sessions }: Prompts,
  index: KvIndex,
  restored: KvIndex,
): void {
  const outs = [new Uint32Array(slots), new Uint32Array(slots)] as const;
  const equal = sessions.every((seq, session) => {
    for (const ask of [
      (from: KvIndex, out: Uint32Array) => from.overlap(seq, { out }),
      (from: KvIndex, out: Uint32Array) => from.exclusiveOverlap(`session ${session}`, seq, { out }),
    ]) {
      ask(index, outs[0]);
      ask(restored, outs[1]);
      if (outs[0].some((blocks, slot) => blocks !== outs[1][slot])) return false;
    }
    return true;
  });
  check(`the restored index gives equal overlaps for all ${sessions.length} sessions`, equal);
  const broken = restored.validate();
  check(`the restored index: validate finds ${broken || 'nothing'}`, broken === '');
}
