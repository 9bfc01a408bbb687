import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Quantiles, Random } from '../../src/random.js';
import { hybridLine } from '../../src/trace/hybrid-line.js';
import { type SynthOptions, synthesizeTrace } from '../../src/trace/synth.js';
import type { ChatRow, TraceRow } from '../../src/trace/types.js';
import { rowsOf } from './support.js';

function text(options: SynthOptions): string {
  return [...synthesizeTrace(options)].map((row) => `${hybridLine(row)}\n`).join('');
}

function bySession(rows: readonly ChatRow[]): ChatRow[][] {
  const sessions = new Map<string, ChatRow[]>();
  for (const row of rows) sessions.set(row.sessionId!, [...(sessions.get(row.sessionId!) ?? []), row]);
  return [...sessions.values()];
}

function commonPrefix(a: BigUint64Array, b: BigUint64Array): number {
  const differs = a.findIndex((id, i) => id !== b[i]);
  return differs === -1 ? a.length : differs;
}

describe('synthesizeTrace', () => {
  it('makes the bundled example again', () => {
    const bundled = gunzipSync(
      readFileSync(new URL('../../examples/agentic-mini.jsonl.gz', import.meta.url)),
    );
    const made = text({ seed: 1, sessions: 40, turns: 16, agents: 3, maxInput: 80_000, blockSize: 64 });
    expect(made === bundled.toString()).toBe(true);
  });

  it('depends on the seed', () => {
    const options = { sessions: 2, turns: 3 };
    expect(text({ ...options, seed: 7 })).toBe(text({ ...options, seed: 7 }));
    expect(text({ ...options, seed: 7 })).not.toBe(text({ ...options, seed: 8 }));
  });

  it('is read back as it was made', async () => {
    const options = { sessions: 6, turns: 4 };
    const made: TraceRow[] = [...synthesizeTrace(options)];
    const read = await rowsOf(text(options));
    expect(read.map((row) => ({ ...row, timestampMs: Math.round(row.timestampMs!) }))).toEqual(made);
  });

  it('has rows in order of time, sessions that begin once, and a chain of parents in each', () => {
    const rows = [...synthesizeTrace({ sessions: 20, turns: 6 })];
    for (const [i, row] of rows.entries())
      expect(row.timestampMs).toBeGreaterThanOrEqual(rows[i - 1]?.timestampMs ?? 0);
    const sessions = bySession(rows);
    expect(sessions).toHaveLength(20);
    for (const session of sessions) {
      expect(session.map((row) => row.turn)).toEqual(session.map((_, turn) => turn));
      expect(session.map((row) => row.parentChatId)).toEqual([
        undefined,
        ...session.slice(0, -1).map((row) => row.chatId),
      ]);
    }
  });

  it('has an id for every full block, and prompts no longer than the limit', () => {
    for (const row of synthesizeTrace({ sessions: 12, turns: 10, blockSize: 24, maxInput: 30_000 })) {
      expect(row.hashIds).toHaveLength(Math.floor(row.inputLength / 24));
      expect(row.inputLength).toBeLessThanOrEqual(30_000);
    }
  });

  it('lets prompts grow, and keeps the boilerplate when one is compacted', () => {
    const sessions = bySession([
      ...synthesizeTrace({ sessions: 10, turns: 20, agents: 1, maxInput: 40_000 }),
    ]);
    let compactions = 0;
    const boilerplate = commonPrefix(sessions[0]![0]!.hashIds, sessions[1]![0]!.hashIds);
    expect(boilerplate).toBeGreaterThan(6_000 / 64 - 1);
    for (const rows of sessions) {
      for (let turn = 1; turn < rows.length; turn++) {
        const [before, after] = [rows[turn - 1]!, rows[turn]!];
        const kept = commonPrefix(before.hashIds, after.hashIds);
        expect([before.hashIds.length, boilerplate]).toContain(kept);
        if (kept < before.hashIds.length) compactions += 1;
      }
    }
    expect(compactions).toBeGreaterThan(0);
  });

  it('shares boilerplate among sessions of one agent and nothing else', () => {
    const firsts = bySession([...synthesizeTrace({ sessions: 30, turns: 2, agents: 4 })]).map(
      (rows) => rows[0]!.hashIds,
    );
    expect(new Set(firsts.map((ids) => ids[0])).size).toBeGreaterThan(1);
    const lasts = firsts.map((ids) => ids.at(-1));
    expect(new Set(lasts).size).toBe(lasts.length);
  });

  it.each([
    [{ seed: -1 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ seed: 2 ** 32 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ sessions: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ turns: 1.5 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ blockSize: Number.NaN }, 'ERR_KVIDX_OUT_OF_RANGE'],
    [{ agents: '3' }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    [null, 'ERR_KVIDX_INVALID_ARG_TYPE'],
  ])('refuses %j, before the first row is asked for', (options, code) => {
    expect(() => synthesizeTrace(options as never)).toThrow(expect.objectContaining({ code }));
  });
});

describe('Random', () => {
  it('is xoshiro128**', () => {
    // The reference code's first numbers from the state 1, 2, 3, 4.
    const random = new Random(0);
    (random as unknown as { state: Uint32Array }).state.set([1, 2, 3, 4]);
    const first = Array.from({ length: 4 }, () => random.uniform() * 2 ** 32);
    expect(first).toEqual([11520, 0, 5927040, 70819200]);
  });

  it('draws by the quantiles', () => {
    const quantiles: Quantiles = [
      [0, 100],
      [0.5, 200],
      [0.9, 1_000],
      [1, 9_000],
    ];
    const random = new Random(3);
    const draws = Array.from({ length: 20_000 }, () => random.draw(quantiles));
    const below = (value: number) => draws.filter((draw) => draw < value).length / draws.length;
    expect(below(100)).toBe(0);
    expect(below(200)).toBeCloseTo(0.5, 1);
    expect(below(1_000)).toBeCloseTo(0.9, 1);
    expect(below(9_001)).toBe(1);
  });
});
