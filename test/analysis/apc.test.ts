import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ApcOptions, analyzeApc } from '../../src/analysis/apc.js';
import type { ApcRow } from '../../src/analysis/request-log.js';
import { Random } from '../../src/random.js';
import { TraceReader } from '../../src/trace/trace-reader.js';
import { realTrace } from '../trace/support.js';

type Request = [input: number, ids: (number | bigint)[], session?: string];

function rowsOf(requests: Request[]): ApcRow[] {
  return requests.map(([inputLength, ids, sessionId], i) => {
    return { line: i + 1, inputLength, sessionId, hashIds: BigUint64Array.from(ids, (id) => BigInt(id)) };
  });
}

async function figures(requests: Request[], options?: ApcOptions) {
  return (await analyzeApc(rowsOf(requests), options)).result;
}

describe('the APC upper bound', () => {
  it('counts a block only behind its own prefix', async () => {
    const result = await figures(
      [
        [20, [1, 2]],
        [20, [2, 1]],
        [30, [1, 2, 1]],
      ],
      { blockSize: 10 },
    );
    expect(result).toMatchObject({
      cached_tokens_any_session: 20,
      n_requests_any_hit: 1,
      total_blocks: 7,
      unique_blocks: 5,
    });
  });

  it('keeps ids apart that a double or 32 bits would merge', async () => {
    const ids = [1n, 2n ** 32n + 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n];
    const result = await figures(
      ids.map((id): Request => [10, [id]]),
      { blockSize: 10 },
    );
    expect(result).toMatchObject({ n_requests_any_hit: 0, unique_blocks: 5 });
  });

  it('is weighted by tokens, and says the other means beside it', async () => {
    const result = await figures(
      [
        [10, [1]],
        [10, [1]],
        [100, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
      ],
      { blockSize: 10 },
    );
    expect(result.apc_upper_any_session).toBe(10 / 120);
    expect(result.block_weighted_any).toBe(1 / 12);
    expect(result.per_request_mean_any).toBe(1 / 3);
  });

  it('counts a partial last block by its tokens, and not among the full ones', async () => {
    const result = await figures(
      [
        [15, [1, 2]],
        [15, [1, 2]],
        [5, [9]],
      ],
      { blockSize: 10 },
    );
    expect(result).toMatchObject({ cached_tokens_any_session: 15, full_blocks_only_any: 10 / 35 });
  });

  it('leaves requests without blocks out of the mean of rates', async () => {
    const result = await figures(
      [
        [5, []],
        [10, [1]],
        [10, [1]],
        [0, []],
      ],
      { blockSize: 10 },
    );
    expect(result).toMatchObject({ n_requests: 4, per_request_mean_any: 0.5, n_requests_any_hit: 1 });
  });

  it('has rates of 0 where there is nothing', async () => {
    expect(await figures([[0, []]], { blockSize: 10 })).toMatchObject({
      apc_upper_any_session: 0,
      block_weighted_any: 0,
      per_request_mean_any: 0,
    });
  });

  it('counts reuse within one session apart', async () => {
    const result = await figures(
      [
        [20, [1, 2], 'a'],
        [20, [1, 2], 'b'],
        [30, [1, 2, 3], 'b'],
      ],
      { blockSize: 10 },
    );
    expect(result).toMatchObject({
      n_sessions: 2,
      cached_tokens_any_session: 40,
      cached_tokens_intra_session: 20,
      n_requests_intra_hit: 1,
    });
  });

  it('counts first blocks of enough sessions as shared, over the whole trace and but for the first showing', async () => {
    const requests: Request[] = [
      [20, [1, 2], 'a'],
      [20, [1, 2], 'a'],
      [20, [7, 2], 'a'],
      [6, [1], 'b'],
      [20, [7, 2], 'a'],
    ];
    expect(await figures(requests, { blockSize: 10, sharedMinSessions: 2 })).toMatchObject({
      shared_prefix_min_sessions: 2,
      n_shared_pos0_blocks: 1,
      n_requests_shared_hit: 2,
      cached_tokens_shared_prefix_only: 16,
      apc_upper_shared_prefix_only: 16 / 86,
    });
    expect(await figures(requests, { blockSize: 10 })).toMatchObject({
      shared_prefix_min_sessions: 8,
      n_shared_pos0_blocks: 0,
      cached_tokens_shared_prefix_only: 0,
    });
  });

  it('is null where it would need sessions that the trace does not name', async () => {
    expect(
      await figures(
        [
          [10, [1]],
          [10, [1]],
        ],
        { blockSize: 10 },
      ),
    ).toMatchObject({
      n_sessions: null,
      apc_upper_intra_session: null,
      cached_tokens_intra_session: null,
      n_requests_intra_hit: null,
      apc_upper_shared_prefix_only: null,
      cached_tokens_shared_prefix_only: null,
      n_requests_shared_hit: null,
      n_shared_pos0_blocks: null,
    });
  });

  it('takes a row without a session for one of its own where others name theirs', async () => {
    const requests: Request[] = [
      [10, [1], 'a'],
      [10, [1]],
      [10, [1]],
    ];
    expect(await figures(requests, { blockSize: 10, sharedMinSessions: 3 })).toMatchObject({
      n_sessions: 3,
      n_shared_pos0_blocks: 1,
      n_requests_intra_hit: 0,
    });
  });

  it('has the keys of the JSON output and no others', async () => {
    expect(Object.keys(await figures([[10, [1], 'a']], { blockSize: 10 }))).toEqual([
      'trace',
      'n_requests',
      'n_sessions',
      'block_size',
      'shared_prefix_min_sessions',
      'total_input_tokens',
      'apc_upper_any_session',
      'apc_upper_intra_session',
      'apc_upper_shared_prefix_only',
      'cached_tokens_any_session',
      'cached_tokens_intra_session',
      'cached_tokens_shared_prefix_only',
      'n_requests_any_hit',
      'n_requests_intra_hit',
      'n_requests_shared_hit',
      'n_shared_pos0_blocks',
      'total_blocks',
      'unique_blocks',
      'block_weighted_any',
      'per_request_mean_any',
      'full_blocks_only_any',
      'lru_curve',
      'lru_cached_tokens',
    ]);
  });
});

describe('the LRU curve', () => {
  /** An LRU cache as it is told: newest first; the head of a path is newer than its tail. */
  function lruTokens(requests: Request[], capacity: number, blockSize: number): number {
    let cache: string[] = [];
    let tokens = 0;
    for (const [input, ids] of requests) {
      const path = ids.map((_, i) => ids.slice(0, i + 1).join());
      const cached = path.findIndex((block) => !cache.includes(block));
      tokens += Math.min((cached === -1 ? path.length : cached) * blockSize, input);
      cache = [...path, ...cache.filter((block) => !path.includes(block))].slice(0, capacity);
    }
    return tokens;
  }

  it('equals an LRU cache of each size', async () => {
    const random = new Random(5);
    const below = (n: number) => Math.floor(random.uniform() * n);
    for (let round = 0; round < 20; round++) {
      const requests = Array.from({ length: 80 }, (): Request => {
        const ids = Array.from({ length: below(12) }, (_, depth) => (depth < 3 ? below(2) : below(4)));
        return [ids.length * 10 - (ids.length > 0 ? below(10) : 0), ids];
      });
      const curve = [1, 2, 3, 5, 8, 13, 21, 40, 1000];
      const result = await figures(requests, { blockSize: 10, curve });
      expect(result.lru_cached_tokens).toEqual(
        Object.fromEntries(curve.map((size) => [size, lruTokens(requests, size, 10)])),
      );
      expect(result.lru_cached_tokens![1000]).toBe(result.cached_tokens_any_session);
    }
  });

  it('takes sizes in any order, once each', async () => {
    const result = await figures([[10, [1]]], { blockSize: 10, curve: [5, 1, 5] });
    expect(Object.keys(result.lru_curve!)).toEqual(['1', '5']);
  });

  it('chooses sizes up to the first that holds everything', async () => {
    const requests = Array.from({ length: 3000 }, (_, i): Request => [10, [i % 1500]]);
    const result = await figures(requests, { blockSize: 10, curve: 'auto' });
    expect(Object.keys(result.lru_curve!)).toEqual([
      '2',
      '5',
      '10',
      '20',
      '50',
      '100',
      '200',
      '500',
      '1000',
      '2000',
    ]);
    expect(result.lru_curve![2000]).toBe(result.apc_upper_any_session);
  });

  it('is null when not asked for', async () => {
    expect(await figures([[10, [1]]], { blockSize: 10 })).toMatchObject({
      lru_curve: null,
      lru_cached_tokens: null,
    });
  });
});

describe('bad input', () => {
  it('needs rows', async () => {
    await expect(figures([])).rejects.toMatchObject({ code: 'ERR_KVIDX_BAD_TRACE' });
  });

  it('names the trace when no block size fits', async () => {
    await expect(figures([[1000, [1, 2]]], { trace: 'mine.jsonl' })).rejects.toMatchObject({
      code: 'ERR_KVIDX_BAD_TRACE',
      message: expect.stringContaining('mine.jsonl: '),
    });
  });

  it.each([
    [{ blockSize: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ blockSize: 1.5 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ blockSize: '64' }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    [{ sharedMinSessions: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ curve: [] }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ curve: [0] }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ curve: [Number.NaN] }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ curve: 'all' }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    [{ curve: Array.from({ length: 1001 }, (_, i) => i + 1) }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ trace: 7 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    [null, 'ERR_KVIDX_INVALID_ARG_TYPE'],
  ])('refuses %j', async (options, code) => {
    await expect(figures([[10, [1]]], options as never)).rejects.toMatchObject({ code });
  });
});

describe('bad rows', () => {
  const good = { line: 1, inputLength: 10, sessionId: 'a', hashIds: BigUint64Array.of(1n) };
  const TYPE = 'ERR_KVIDX_INVALID_ARG_TYPE';
  const RANGE = 'ERR_KVIDX_OUT_OF_RANGE';

  it.each([
    ['null', null, TYPE, 'rows[1] must be an object, got null'],
    ['undefined', undefined, TYPE, 'rows[1] must be an object, got undefined'],
    ['a number', 5, TYPE, 'rows[1] must be an object, got 5'],
    ['no line', { ...good, line: undefined }, TYPE, 'rows[1].line must be a number'],
    ['line 0', { ...good, line: 0 }, RANGE, 'rows[1].line must be an integer from 1'],
    [
      'an input of NaN',
      { ...good, inputLength: Number.NaN },
      RANGE,
      'rows[1].inputLength must be an integer',
    ],
    ['an input of −1', { ...good, inputLength: -1 }, RANGE, 'rows[1].inputLength must be an integer'],
    [
      'an input of 2^32 + 2',
      { ...good, inputLength: 2 ** 32 + 2 },
      RANGE,
      'rows[1].inputLength must be an integer',
    ],
    [
      'an input as text',
      { ...good, inputLength: '10' },
      TYPE,
      'rows[1].inputLength must be a number, got "10"',
    ],
    [
      'a number for a session',
      { ...good, sessionId: 7 },
      TYPE,
      'rows[1].sessionId must be a string or undefined',
    ],
    [
      'no ids',
      { ...good, hashIds: undefined },
      TYPE,
      'rows[1].hashIds must be a BigUint64Array, got undefined',
    ],
    [
      'an array of ids',
      { ...good, hashIds: [1n] },
      TYPE,
      'rows[1].hashIds must be a BigUint64Array, got an Array',
    ],
    [
      'ids in shared memory',
      { ...good, hashIds: new BigUint64Array(new SharedArrayBuffer(8)) },
      TYPE,
      'rows[1].hashIds must be in unshared memory',
    ],
  ])('are refused with their number: %s', async (_, bad, code, message) => {
    await expect(analyzeApc([good, bad as never], { blockSize: 10 })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });

  it.each([
    ['null', null],
    ['an object', {}],
    ['a number', 7],
    ['nothing', undefined],
  ])('are no rows at all: %s', async (_, rows) => {
    await expect(analyzeApc(rows as never)).rejects.toMatchObject({
      code: TYPE,
      message: expect.stringContaining('rows must be an iterable of rows'),
    });
  });
});

describe.each([
  ['agentic-48', 'floor'],
  ['mooncake-conversation', 'ceil'],
  ['mooncake-synthetic', 'ceil'],
])('the real trace %s', (name, convention) => {
  const path = realTrace(name);
  const test = it.skipIf(path === undefined);
  const suffix = path === undefined ? ` (skipped: there is no ../shared/traces/${name}.jsonl.gz)` : '';

  test.each(['given', 'inferred'])(
    `has exactly the expected figures with its block size %s${suffix}`,
    async (how) => {
      const expected = JSON.parse(
        readFileSync(new URL('../../../shared/expected/apc.json', import.meta.url), 'utf8'),
      )[name];
      const { result, blockSize } = await analyzeApc(new TraceReader(path!), {
        curve: Object.keys(expected.lru_curve).map(Number),
        ...(how === 'given' ? { blockSize: expected.block_size } : {}),
      });
      expect(result).toMatchObject(expected);
      expect(blockSize).toMatchObject({ convention, contradictingRows: 0 });
    },
  );
});
