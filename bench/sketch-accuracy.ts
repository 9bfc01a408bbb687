import { BloomFilter, parquetBits } from '../src/sketch/index.js';
import { counted, grouped } from '../src/text.js';
import type { Figure } from './figures.js';
import type { ScenarioContext } from './harness.js';
import { Random } from './random.js';

const BLOCK_BITS = 256;
/** Measured ÷ target: with fewer false positives to count, chance has more of a part in it. */
const RATES = [
  { rate: 0.1, target: { atLeast: 0.95, atMost: 1.05 } },
  { rate: 0.01, target: { atLeast: 0.95, atMost: 1.05 } },
  { rate: 0.001, target: { atLeast: 0.9, atMost: 1.1 } },
] as const;

/**
 * Rates of false positives, of filters sized for them and of such as Parquet's closed formula gives. Random repeats itself
 * only after 2^32 − 1 numbers: no probe is a key.
 */
export function measureRates({ quick, check, progress }: ScenarioContext): Figure[] {
  const random = new Random(41);
  const keys = random.hashes(quick ? 50_000 : 1_000_000);
  const batch = quick ? 50_000 : 1_000_000;
  const probes = 10 * batch;
  progress(`false positives of ${grouped(probes)} probes`);
  const sized = RATES.map(({ rate }) => BloomFilter.of(keys, rate));
  const byFormula = RATES.map(({ rate }) => {
    const filter = new BloomFilter(Math.ceil(parquetBits(keys.length, rate) / BLOCK_BITS));
    filter.add(keys);
    return filter;
  });
  const filters = [...sized, ...byFormula];
  check(
    `never a false negative: ${counted(keys.length, 'key')} in filters for ${RATES.map(({ rate }) => `${100 * rate}`).join(', ')} %`,
    filters.every((filter) => filter.countBlocks(keys) === keys.length),
  );

  const positives = filters.map(() => 0);
  for (let asked = 0; asked < probes; asked += batch) {
    const hashes = random.hashes(batch);
    for (const [i, filter] of filters.entries()) positives[i]! += filter.countBlocks(hashes);
  }
  return RATES.flatMap(({ rate, target }, i): Figure[] => {
    const name = `${grouped(keys.length)} keys at ${100 * rate} %`;
    const [measured, ofFormula] = [positives[i]! / probes, positives[i + RATES.length]! / probes];
    return [
      { name: `${name}: false positives, measured ÷ target`, value: measured / rate, unit: 'x', target },
      { name: `${name}: false positives`, value: 100 * measured, unit: '%' },
      { name: `${name}: by Parquet's formula`, value: 100 * ofFormula, unit: '%' },
      { name: `${name}: filter`, value: (BLOCK_BITS * sized[i]!.z) / keys.length, unit: 'bits/block' },
    ];
  });
}
