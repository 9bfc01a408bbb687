import { BloomFilter, encodeFrame } from '../src/sketch/index.js';
import { counted } from '../src/text.js';
import type { Figure } from './figures.js';
import type { ScenarioContext } from './harness.js';
import type { Requests } from './requests.js';
import { RoundRobin } from './round-robin.js';

const TARGET_FPP = 0.01;
const EXACT_BYTES_A_BLOCK = 8;

/**
 * By how much sketches lengthen overlaps: each request is compared on all workers, then stored on the next, whose filter is
 * built anew. At the end, what their full frames take.
 */
export function compareOverlaps({ check }: ScenarioContext, requests: Requests): Figure[] {
  const fleet = new RoundRobin(requests);
  const { index, workers } = fleet;
  const filters = workers.map(() => new BloomFilter(1));
  let tooShort = 0;
  let tooLong = 0;
  for (const { seq } of requests.all) {
    const exact = index.overlap(seq);
    for (const [i, { slot }] of workers.entries()) {
      const more = filters[i]!.leadingBlocks(seq) - exact[slot]!;
      if (more < 0) tooShort += 1;
      tooLong += more;
    }
    const place = fleet.serve(seq);
    filters[place] = BloomFilter.of(index.enumerate(workers[place]!), TARGET_FPP);
  }
  const pairs = requests.all.length * workers.length;
  check(
    `overlap by sketch ≥ exact overlap for all ${counted(pairs, 'pair')} of request and worker`,
    tooShort === 0,
  );

  let blocks = 0;
  let bytes = 0;
  for (const [i, worker] of workers.entries()) {
    const keys = index.residentBlocks(worker);
    blocks += keys;
    bytes += encodeFrame({
      kind: 'full',
      worker: worker.name,
      session: undefined,
      epoch: 1,
      sequence: 0,
      timestampMs: 0,
      keys,
      targetFpp: TARGET_FPP,
      blockSize: index.blockSize,
      filter: filters[i]!,
    }).length;
  }
  index.close();
  return [
    { name: 'overlap: mean inflation', value: tooLong / pairs, unit: 'blocks', target: { atMost: 0.016 } },
    { name: 'resident at the end, a worker', value: blocks / workers.length, unit: 'blocks' },
    {
      name: 'full frames at the end',
      value: bytes / blocks,
      unit: 'bytes/block',
      target: { atMost: 1.5 },
      better: 'lower',
    },
    { name: 'exact set ÷ full frames', value: (EXACT_BYTES_A_BLOCK * blocks) / bytes, unit: 'x' },
  ];
}
