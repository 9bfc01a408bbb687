import { describe, expect, it } from 'vitest';
import { traceTokens } from '../../../src/events/fake/index.js';
import type { TraceRow } from '../../../src/index.js';
import { readRows } from './support.js';

function row(line: number, ids: number[], inputLength: number, more: Partial<TraceRow> = {}): TraceRow {
  return {
    line,
    timestampMs: undefined,
    inputLength,
    outputLength: undefined,
    sessionId: 's',
    chatId: undefined,
    parentChatId: undefined,
    type: undefined,
    turn: undefined,
    timeToParentChatMs: undefined,
    hashIds: BigUint64Array.from(ids, BigInt),
    ...more,
  };
}

function requests(...rows: TraceRow[]) {
  return [...traceTokens(rows, 4)].map(({ tokens, output }) => ({
    tokens: [...tokens],
    output: [...output],
  }));
}

describe('tokens of a trace', () => {
  it('come from the ids alone', () => {
    const [a, b] = requests(
      row(1, [1, 2], 8),
      row(2, [2, 1, 2], 10, { sessionId: 'other' }), // by ceil: the last id is that of a partial block
    );
    const [one, two] = [a!.tokens.slice(0, 4), a!.tokens.slice(4)];
    expect(b!.tokens).toEqual([...two, ...one, ...two.slice(0, 2)]);
    expect(new Set(a!.tokens).size).toBe(8);
  });

  it('differ where only the upper half of an id does', () => {
    const [a, b] = requests(row(1, [1], 4), row(2, [1 + 2 ** 32], 4));
    expect(a!.tokens).not.toEqual(b!.tokens);
  });

  it('of a partial block and the answer are what the next turn repeats', () => {
    const [first, second] = requests(row(1, [1], 6, { outputLength: 5 }), row(2, [1, 2, 3], 12));
    expect([...first!.tokens, ...first!.output]).toEqual(second!.tokens.slice(0, 11));
  });

  it('reach over turns that complete no block', () => {
    const [first, second, third] = requests(
      row(1, [1], 5, { outputLength: 1 }),
      row(2, [1], 7, { outputLength: 3 }),
      row(3, [1, 2, 3], 12),
    );
    expect([...second!.tokens, ...second!.output]).toEqual(third!.tokens.slice(0, 10));
    expect([...first!.tokens, ...first!.output]).toEqual(third!.tokens.slice(0, 6));
  });

  it('are the own of a row whose session goes on otherwise, or not at all', () => {
    const more = { outputLength: 2 };
    const [first, second, third] = requests(
      row(1, [1], 5, more),
      row(2, [9], 5, more),
      row(3, [9, 8], 6, more),
    );
    expect(first!.output).toHaveLength(2);
    expect(first!.tokens[4]).not.toBe(second!.tokens[4]);
    expect([...second!.tokens, second!.output[0]]).toEqual(third!.tokens);
    expect(second!.output[1]).not.toBe(third!.output[0]);
    expect(requests(row(1, [1], 5, more))).toEqual([first]);
  });

  it('of a session begin with prompt and answer of the turn before', async () => {
    const rows = await readRows('examples/agentic-mini.jsonl.gz', 300);
    const before = new Map<string, { ids: BigUint64Array; said: Uint32Array }>();
    let turns = 0;
    for (const { row, tokens, output } of traceTokens(rows, 64)) {
      expect([tokens.length, output.length]).toEqual([row.inputLength, row.outputLength]);
      expect(tokens.every((token) => token < 150_000)).toBe(true);
      const turn = before.get(row.sessionId!);
      if (turn?.ids.every((id, i) => id === row.hashIds[i])) {
        turns++;
        const common = Math.min(turn.said.length, tokens.length);
        expect(turn.said.subarray(0, common).every((token, i) => token === tokens[i])).toBe(true);
      }
      before.set(row.sessionId!, { ids: row.hashIds, said: Uint32Array.of(...tokens, ...output) });
    }
    expect(turns).toBeGreaterThan(200);
  });

  it('are refused for block sizes that are none, and for rows without end', () => {
    expect(() => [...traceTokens([], 0)]).toThrow(RangeError);
    expect(() => requests(row(7, [1], 2 ** 31))).toThrow(
      expect.objectContaining({ code: 'ERR_KVIDX_BAD_TRACE', message: expect.stringContaining('line 7') }),
    );
  });
});
