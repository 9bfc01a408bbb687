import { expect, test } from 'vitest';
import { decodeEventBatch, EventFeed, KvIndex } from '../../../src/index.js';
import { Random } from '../../../src/random.js';
import { BLOCK_SIZE, batch, CLEARED, remove, store } from './support.js';

/*
 * A message in its usual forms takes the short way through columns, any other the one through typed events. Both must do
 * the same.
 */

function world(seed: number) {
  const source = new Random(seed);
  const random = () => source.uniform();
  const below = (n: number) => Math.floor(random() * n);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)]!;
  const names = Array.from({ length: 40 }, (_, i) =>
    BigInt.asUintN(64, BigInt(i - 5) * 0x1234_5678_9abc_def1n),
  );
  const anyNames = (n: number) => Array.from({ length: n }, () => pick(names));
  const medium = () => pick(['GPU', 'GPU', 'GPU', 'CPU', null, 'TAPE']);
  const extras = () => pick([{}, {}, {}, { lora_name: 'x' }, { cache_salt: 's' }, { group_idx: below(2) }]);

  function event(): object {
    const kind = random();
    if (kind < 0.03) return CLEARED;
    if (kind < 0.35)
      return remove(anyNames(below(5)), { medium: medium(), ...pick([{}, { group_idx: below(2) }]) });
    if (kind < 0.45) return store(anyNames(below(4)), [], { block_size: 0, medium: medium() });
    if (kind < 0.48) return store(anyNames(2), [1, 2, 3]);
    const blocks = 1 + below(4);
    return store(
      anyNames(blocks),
      Array.from({ length: blocks * BLOCK_SIZE }, () => below(3)),
      {
        parent_block_hash: random() < 0.5 ? null : pick(names),
        medium: medium(),
        ...extras(),
        ...(random() < 0.1 && {
          group_idx: 1,
          kv_cache_spec_kind: pick(['sliding_window', 'full_attention']),
        }),
      },
    );
  }
  return { event, below };
}

const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1);

test.each(SEEDS)('the short way and the general one do the same (seed %i)', (seed) => {
  const { event, below } = world(seed);
  const short = new KvIndex({ blockSize: BLOCK_SIZE });
  const general = new KvIndex({ blockSize: BLOCK_SIZE });
  const shortFeed = new EventFeed(short);
  const generalFeed = new EventFeed(general);
  for (let i = 0; i < 60; i++) {
    const payload = batch(...Array.from({ length: below(6) }, event));
    const {
      timestampMs: _,
      bad,
      events: all,
      unknownTags,
      ...applied
    } = shortFeed.follow('w').apply(payload, { nowMs: 1 });
    const decoded = decodeEventBatch(payload);
    expect(generalFeed.follow('w').applyEvents(decoded.events, { nowMs: 1 })).toMatchObject(applied);
    expect({ bad, unknownTags }).toEqual({ bad: decoded.bad, unknownTags: decoded.unknown });
    expect(all).toBe(decoded.events.length + decoded.bad.length + decoded.unknown);
    expect(short.validate()).toBe('');
    expect(shortFeed.snapshot()).toEqual(generalFeed.snapshot());
  }
});
