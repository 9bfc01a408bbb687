import { describe, expect, it } from 'vitest';
import { decodeTensorRtEvents } from '../../src/index.js';
import { hashes, removed, stored, tokens } from './build.js';

const token = (token_id: number, token_extra_id = 0) => ({ type: 'unique_token', token_id, token_extra_id });
const block = (block_hash: unknown, ids: number[], cache_level = 0, more = {}) => ({
  type: 'stored_block',
  block_hash,
  tokens: ids.map((id) => token(id)),
  cache_level,
  priority: 35,
  ...more,
});
const event = (data: object, more: object = {}) => ({ event_id: 7, data, window_size: 4096, ...more });
const storedData = (...blocks: object[]) => ({ type: 'stored', parent_hash: null, blocks });

function kvEventsOf(data: object) {
  const decoded = decodeTensorRtEvents(event(data));
  expect(decoded.bad).toEqual([]);
  return decoded.events[0]!.events;
}

describe("TensorRT-LLM's JSON", () => {
  it('decodes its four types, with window and rank', () => {
    const list = [
      event({ type: 'created', num_blocks_per_cache_level: [100, 50] }),
      event(storedData(block(1, [1, 2]), block(2, [3, 4])), { event_id: 8, attention_dp_rank: 1 }),
      event({
        type: 'updated',
        block_hash: 2,
        cache_level: { type: 'event_diff', new_value: 1, old_value: 0 },
        priority: null,
      }),
      event({
        type: 'updated',
        block_hash: 2,
        cache_level: null,
        priority: { type: 'event_diff', new_value: 1, old_value: 2 },
      }),
      event({ type: 'removed', block_hashes: [2] }, { window_size: 512 }),
    ];
    const { events, unknown, bad } = decodeTensorRtEvents(JSON.stringify(list));
    expect({ unknown, bad }).toEqual({ unknown: 0, bad: [] });
    const about = { eventId: 7, windowSize: 4096, dpRank: undefined, blocksPerLevel: undefined };
    expect(events).toEqual([
      { ...about, type: 'created', events: [], blocksPerLevel: [100, 50] },
      {
        ...about,
        eventId: 8,
        type: 'stored',
        dpRank: 1,
        events: [stored({ blockHashes: hashes(1n, 2n), tokens: tokens(1, 2, 3, 4), blockSize: 2 })],
      },
      {
        ...about,
        type: 'updated',
        events: [stored({ blockHashes: hashes(2n), medium: 'CPU' }), removed({ blockHashes: hashes(2n) })],
      },
      { ...about, type: 'updated', events: [] },
      {
        ...about,
        type: 'removed',
        windowSize: 512,
        events: [removed({ blockHashes: hashes(2n) }), removed({ blockHashes: hashes(2n), medium: 'CPU' })],
      },
    ]);
  });

  it('keeps all 64 bits of hashes in a text', () => {
    const text =
      '{"event_id": 1, "note": "say \\"18446744073709551615, 1\\"", "f": 0.12345678901234567890, "data": {"type": "stored", ' +
      '"parent_hash": 18446744073709551615, "blocks": [{"block_hash":17831341519058834317, "tokens": [], "cache_level": 0}]}}';
    expect(decodeTensorRtEvents(text).events[0]!.events).toEqual([
      stored({ blockHashes: hashes(17831341519058834317n), parentHash: 2n ** 64n - 1n }),
    ]);
  });

  it('refuses Numbers that have lost bits, and takes bigints and digits', () => {
    const data = (hash: unknown) => event({ type: 'removed', block_hashes: [hash] });
    const { events, bad } = decodeTensorRtEvents([
      data(2 ** 60),
      data(2n ** 60n),
      data('18446744073709551615'),
    ]);
    expect(bad).toEqual([
      { index: 0, problem: 'block_hashes[0] is a Number beyond 2^53, which has lost bits' },
    ]);
    expect(events.map((item) => item.events[0])).toEqual([
      removed({ blockHashes: hashes(2n ** 60n) }),
      removed({ blockHashes: hashes(2n ** 64n - 1n) }),
    ]);
  });

  it('takes a partial last block, and tells no block size for a single one', () => {
    expect(kvEventsOf(storedData(block(1, [1, 2, 3, 4]), block(2, [5])))).toEqual([
      stored({ blockHashes: hashes(1n, 2n), tokens: tokens(1, 2, 3, 4, 5), blockSize: 4 }),
    ]);
    expect(kvEventsOf(storedData(block(1, [1, 2, 3, 4])))).toEqual([
      stored({ blockHashes: hashes(1n), tokens: tokens(1, 2, 3, 4) }),
    ]);
  });

  it('makes an event of each run of blocks in one tier', () => {
    expect(kvEventsOf(storedData(block(1, [1]), block(2, [2], 1), block(3, [3], 1)))).toEqual([
      stored({ blockHashes: hashes(1n), tokens: tokens(1), blockSize: 1 }),
      stored({
        blockHashes: hashes(2n, 3n),
        parentHash: 1n,
        tokens: tokens(2, 3),
        blockSize: 1,
        medium: 'CPU',
      }),
    ]);
  });

  it('tells extra ids of tokens and multimodal keys as extra keys', () => {
    const image = { mm_keys: [{ type: 'mm_key', hash: 'ab'.repeat(32), start_offset: -2 }] };
    const extra = { tokens: [token(5), token(6, 9)] };
    expect(
      kvEventsOf(storedData(block(1, [1, 2], 0, image), block(2, [3, 4]), block(3, [], 0, extra))),
    ).toEqual([
      stored({
        blockHashes: hashes(1n, 2n, 3n),
        tokens: tokens(1, 2, 3, 4, 5, 6),
        blockSize: 2,
        extraKeys: [[['ab'.repeat(32), -2]], undefined, [['token_extra_id', 1, 9n]]],
      }),
    ]);
  });

  it.each<[string, unknown, RegExp]>([
    [
      'a partial block within',
      event(storedData(block(1, [1]), block(2, [2, 3]))),
      /^not all blocks but the last have 1 token$/,
    ],
    ['a tier nobody knows', event(storedData(block(1, [1], 2))), /^cache_level 2 is neither/],
    ['a token above u32', event(storedData(block(1, [2 ** 32]))), /^token_ids\[0\] is no integer/],
    ['no data', { event_id: 1 }, /^data is no object$/],
    ['no id', { data: { type: 'removed', block_hashes: [] } }, /^event_id is no integer/],
    ['no object', 5, /^an event is no object$/],
  ])('tells %s, and the others stand', (_, value, problem) => {
    const decoded = decodeTensorRtEvents([
      value,
      event({ type: 'later' }),
      event({ type: 'removed', block_hashes: [] }),
    ]);
    expect(decoded.bad).toEqual([{ index: 0, problem: expect.stringMatching(problem) }]);
    expect(decoded).toMatchObject({ unknown: 1, events: [{ type: 'removed' }] });
  });

  it('refuses what is no JSON of events', () => {
    const bad = expect.objectContaining({ code: 'ERR_KVIDX_BAD_EVENT' });
    for (const text of ['', '[', '5', 'null', `"${'\\"'.repeat(100_000)}`, '['.repeat(100_000)]) {
      expect(() => decodeTensorRtEvents(text)).toThrow(bad);
    }
    expect(() => decodeTensorRtEvents(5 as never)).toThrow(
      expect.objectContaining({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' }),
    );
  });
});
