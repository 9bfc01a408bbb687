import { describe, expect, it, vi } from 'vitest';
import { simulateSequential } from '../../src/sim/sequential.js';
import type { SimOptions } from '../../src/sim/types.js';
import { type Request, rowsOf } from './support.js';

/** Two sessions that begin with the same block; the last block of the last request is a partial one. */
const SHARED_FIRST_BLOCK: readonly Request[] = [
  [20, [1, 2], 'a'],
  [20, [1, 3], 'b'],
  [30, [1, 2, 4], 'a'],
  [25, [1, 3, 5], 'b'],
];

async function simulate(
  requests: readonly Request[],
  policies: readonly string[],
  options: Partial<SimOptions> = {},
) {
  const rows = rowsOf(requests);
  return (await simulateSequential(() => rows, { workers: 2, blockSize: 10, policies, ...options })).result;
}

/** The workers that one policy chose, in order. */
async function choices(requests: readonly Request[], policy: string, workers = 2): Promise<string[]> {
  const chosen: string[] = [];
  const onDecision: SimOptions['onDecision'] = (_, { worker }) => chosen.push(worker);
  await simulate(requests, [policy], { workers, onDecision });
  return chosen;
}

describe('the sequential clock', () => {
  it('answers the figures of every policy, each with a fleet of its own', async () => {
    const policies = ['round-robin', 'kv-aware', 'kv-aware:overlap=exclusive'];
    const spread = {
      requests_per_worker: [2, 2],
      tokens_per_worker: [50, 45],
      new_tokens_per_worker: [30, 25],
      cached_tokens: 40,
      apc: 40 / 95,
      share_of_bound: 40 / 95 / (50 / 95),
      balance: 1,
    };
    expect(await simulate(SHARED_FIRST_BLOCK, policies, { trace: 'mine' })).toEqual({
      trace: 'mine',
      block_size: 10,
      workers: 2,
      rows: [
        { policy: 'round-robin', ...spread },
        {
          policy: 'kv-aware',
          requests_per_worker: [4, 0],
          tokens_per_worker: [95, 0],
          new_tokens_per_worker: [45, 0],
          cached_tokens: 50,
          apc: 50 / 95,
          share_of_bound: 1,
          balance: 2,
        },
        { policy: 'kv-aware:overlap=exclusive', ...spread },
      ],
    });
  });

  it('has the keys of the JSON output, in this order', async () => {
    const result = await simulate(SHARED_FIRST_BLOCK, ['lpwl']);
    expect(Object.keys(result)).toEqual(['trace', 'block_size', 'workers', 'rows']);
    expect(Object.keys(result.rows[0]!)).toEqual([
      'policy',
      'requests_per_worker',
      'tokens_per_worker',
      'new_tokens_per_worker',
      'cached_tokens',
      'apc',
      'share_of_bound',
      'balance',
    ]);
  });

  it('answers the bound and the block size with the result', async () => {
    const rows = rowsOf([...SHARED_FIRST_BLOCK, [11, [6, 7]]]);
    const { bound, result } = await simulateSequential(() => rows, { workers: 2, policies: ['lpwl'] });
    expect(bound.blockSize).toMatchObject({ blockSize: 10, inferred: true, convention: 'ceil' });
    expect(bound.result.cached_tokens_any_session).toBe(50);
    expect(result.block_size).toBe(10);
  });

  it('names policies as they were given, also the same one twice', async () => {
    const policies = ['kv-aware:k=2', 'kv-aware:loadFloor=2', 'kv-aware:k=2'];
    const { rows } = await simulate(SHARED_FIRST_BLOCK, policies);
    expect(rows.map(({ policy }) => policy)).toEqual(policies);
    expect(rows.map((row) => ({ ...row, policy: '' }))).toEqual(Array(3).fill({ ...rows[0], policy: '' }));
  });

  it('tells each decision, request by request and policy by policy', async () => {
    const told: string[] = [];
    await simulate(SHARED_FIRST_BLOCK.slice(0, 2), ['round-robin', 'kv-aware'], {
      onDecision: (policy, { worker, cachedTokens }) => told.push(`${policy} ${worker} ${cachedTokens}`),
    });
    expect(told).toEqual(['round-robin w0 0', 'kv-aware w0 0', 'round-robin w1 0', 'kv-aware w0 10']);
  });

  it('adds what a request leaves behind only when it is decided', async () => {
    expect(
      await choices(
        [
          [10, [1], 'a'],
          [10, [1], 'b'],
        ],
        'kv-aware',
      ),
    ).toEqual(['w0', 'w0']);
    expect((await simulate([[10, [1], 'a']], ['kv-aware'])).rows[0]!.cached_tokens).toBe(0);
  });

  it('has no load, whatever came before', async () => {
    const requests = Array.from({ length: 6 }, (_, i): Request => [10, [i], `s${i}`]);
    for (const policy of ['load-only', 'lmetric', 'sticky']) {
      expect(await choices(requests, policy, 3)).toEqual(Array(6).fill('w0'));
    }
  });

  it('counts a block only behind its own prefix', async () => {
    const requests: Request[] = [
      [20, [1, 2]],
      [20, [2, 1]],
      [30, [1, 2, 1]],
    ];
    expect((await simulate(requests, ['kv-aware'], { workers: 1 })).rows[0]!.cached_tokens).toBe(20);
  });

  it('counts a partial last block by its tokens', async () => {
    const requests: Request[] = [
      [25, [1, 2, 3]],
      [25, [1, 2, 3]],
    ];
    expect((await simulate(requests, ['kv-aware'])).rows[0]).toMatchObject({
      cached_tokens: 25,
      new_tokens_per_worker: [25, 0],
    });
  });

  it('takes a row without a session for a session of its own, which owns its blocks to the end', async () => {
    const requests: Request[] = [
      [10, [1]],
      [10, [1]],
      [10, [1]],
    ];
    expect(await choices(requests, 'kv-aware:overlap=exclusive')).toEqual(['w0', 'w1', 'w0']);
    expect(await choices(requests, 'kv-aware:overlap=exclusive:m=2')).toEqual(['w0', 'w0', 'w0']);
    expect(await choices([...requests, ...requests], 'kv-aware:overlap=exclusive:m=2')).toEqual([
      'w0',
      'w0',
      'w0',
      'w1',
      'w1',
      'w1',
    ]);
  });

  it('forgets no session, however many follow', async () => {
    const others = Array.from({ length: 70_000 }, (_, i): Request => [10, [i + 2], `s${i}`]);
    const requests: Request[] = [[10, [1], 'first'], ...others, [10, [1], 'first']];
    // The other worker has been given one request fewer: only its home keeps the session from it.
    expect((await choices(requests, 'kv-aware:overlap=exclusive')).at(-1)).toBe('w0');
  });

  it.each([
    ['lone surrogates', '\ud800', '\ud801'],
    ['an empty name', '', 'a'],
    ['names that begin with NUL', '\u0000a', '\u0000b'],
  ])('takes any text for a name of a session: %s', async (_, one, other) => {
    const requests: Request[] = [
      [10, [1], one],
      [10, [2], other],
      [10, [3], one],
      [10, [4], other],
    ];
    expect(await choices(requests, 'kv-aware:overlap=exclusive')).toEqual(['w0', 'w1', 'w0', 'w1']);
  });

  it('leaves ids beyond the end of the prompt out', async () => {
    const requests: Request[] = [
      [20, [1, 2], 'a'],
      [10, [1, 2], 'a'],
      [0, [1], 'a'],
      [20, [1, 2], 'a'],
      [20, [1, 2], 'a'],
    ];
    const { rows } = await simulate(requests, ['kv-aware']);
    expect(rows[0]).toMatchObject({ cached_tokens: 50, share_of_bound: 1, tokens_per_worker: [70, 0] });
  });

  it('has no share of a bound that is 0', async () => {
    const { rows } = await simulate([[10, [1]]], ['lpwl']);
    expect(rows[0]).toMatchObject({ apc: 0, share_of_bound: null, balance: 2 });
    const nothing = await simulate([[0, []]], ['lpwl']);
    expect(nothing.rows[0]).toMatchObject({ apc: 0, share_of_bound: null, cached_tokens: 0 });
  });

  it('answers the same again for the same trace and seed', async () => {
    const requests = Array.from({ length: 50 }, (_, i): Request => [10, [i]]);
    const first = await choices(requests, 'random:seed=5', 4);
    expect(await choices(requests, 'random:seed=5', 4)).toEqual(first);
    expect(await choices(requests, 'random:seed=6', 4)).not.toEqual(first);
  });

  it('serves as many workers as it says', async () => {
    const requests = Array.from({ length: 1024 }, (_, i): Request => [10, [i]]);
    const { rows } = await simulate(requests, ['round-robin'], { workers: 1024 });
    expect(rows[0]!.requests_per_worker).toEqual(Array(1024).fill(1));
  });
});

describe('bad input', () => {
  const good = { workers: 2, policies: ['lpwl'] };

  it.each([
    [
      'no workers',
      { ...good, workers: 0 },
      'ERR_KVIDX_OUT_OF_RANGE',
      /workers must be an integer from 1 to 1024/,
    ],
    ['too many workers', { ...good, workers: 1025 }, 'ERR_KVIDX_OUT_OF_RANGE', /workers/],
    ['half a worker', { ...good, workers: 1.5 }, 'ERR_KVIDX_OUT_OF_RANGE', /workers/],
    ['workers as text', { ...good, workers: '3' }, 'ERR_KVIDX_INVALID_ARG_TYPE', /workers/],
    ['no policies', { ...good, policies: [] }, 'ERR_KVIDX_OUT_OF_RANGE', /policies/],
    [
      'policies as text',
      { ...good, policies: 'lpwl' },
      'ERR_KVIDX_INVALID_ARG_TYPE',
      /policies must be an array/,
    ],
    [
      'a policy of a number',
      { ...good, policies: ['lpwl', 7] },
      'ERR_KVIDX_INVALID_ARG_TYPE',
      /policies\[1\]/,
    ],
    ['an unknown policy', { ...good, policies: ['lpwk'] }, 'ERR_KVIDX_OUT_OF_RANGE', /did you mean lpwl/],
    ['an unknown option', { ...good, policies: ['lpwl:k=1'] }, 'ERR_KVIDX_OUT_OF_RANGE', /option of lpwl/],
    ['blocks of 0 tokens', { ...good, blockSize: 0 }, 'ERR_KVIDX_OUT_OF_RANGE', /blockSize/],
    ['blocks of 4,097 tokens', { ...good, blockSize: 4097 }, 'ERR_KVIDX_OUT_OF_RANGE', /blockSize/],
    ['a trace of a number', { ...good, trace: 7 }, 'ERR_KVIDX_INVALID_ARG_TYPE', /trace/],
    ['a listener that is none', { ...good, onDecision: 1 }, 'ERR_KVIDX_INVALID_ARG_TYPE', /onDecision/],
    ['no options', undefined, 'ERR_KVIDX_INVALID_ARG_TYPE', /policies/],
    ['options that are none', null, 'ERR_KVIDX_INVALID_ARG_TYPE', /options/],
  ])('is refused before a row is read: %s', async (_, options, code, message) => {
    const open = vi.fn(() => rowsOf(SHARED_FIRST_BLOCK));
    await expect(simulateSequential(open, options as never)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
    expect(open).not.toHaveBeenCalled();
  });

  it('is rows instead of a function that opens them', async () => {
    await expect(simulateSequential(rowsOf(SHARED_FIRST_BLOCK) as never, good)).rejects.toMatchObject({
      code: 'ERR_KVIDX_INVALID_ARG_TYPE',
      message: expect.stringContaining('open must be a function'),
    });
  });

  it('is no rows', async () => {
    await expect(simulate([], ['lpwl'])).rejects.toMatchObject({ code: 'ERR_KVIDX_BAD_TRACE' });
  });

  it('is a trace whose blocks no router takes', async () => {
    const rows = rowsOf([
      [5000, [1]],
      [5001, [1, 2]],
    ]);
    await expect(simulateSequential(() => rows, { ...good, trace: 'large' })).rejects.toMatchObject({
      code: 'ERR_KVIDX_BAD_TRACE',
      message: 'large: its blocks have 5,000 tokens, and a router takes at most 4,096',
    });
  });

  it.each([
    ['more', 1],
    ['fewer', -1],
  ])('is a trace that has %s rows when it is read again', async (_, change) => {
    let length = 2;
    const open = () => {
      const rows = rowsOf(SHARED_FIRST_BLOCK.slice(0, length));
      length += change;
      return rows;
    };
    await expect(simulateSequential(open, { ...good, blockSize: 10 })).rejects.toMatchObject({
      code: 'ERR_KVIDX_BAD_TRACE',
      message: expect.stringContaining('its rows changed between the two passes (2 rows'),
    });
  });
});
