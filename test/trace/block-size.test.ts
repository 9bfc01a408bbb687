import { describe, expect, it } from 'vitest';
import { BlockSizeCheck } from '../../src/trace/block-size.js';

function check(rows: [number, number][], given?: number) {
  const result = new BlockSizeCheck(given);
  for (const [i, [input, blocks]] of rows.entries()) result.add(input, blocks, i + 1);
  return () => result.verdict('trace.jsonl');
}

const inputs = [0, 1, 63, 64, 65, 4095, 4096, 10_000, 12_345, 70_001, 256_000, 256_001];

describe('BlockSizeCheck', () => {
  it.each([1, 16, 24, 64, 512])('infers %i where partial blocks have an id', (size) => {
    const rows = inputs.map((input): [number, number] => [input, Math.ceil(input / size)]);
    expect(check(rows)()).toMatchObject({ blockSize: size, convention: 'ceil', inferred: true });
  });

  it.each([16, 24, 64, 512])('infers %i where only full blocks have an id', (size) => {
    const rows = inputs.map((input): [number, number] => [input, Math.floor(input / size)]);
    expect(check(rows)()).toMatchObject({ blockSize: size, convention: 'floor', inferred: true });
  });

  it('agrees with trying every size', () => {
    const sizes = Array.from({ length: 300 }, (_, i) => i + 1);
    for (let input = 0; input < 60; input++) {
      for (let blocks = 0; blocks < 8; blocks++) {
        const rows: [number, number][] = [
          [input, blocks],
          [17, 3],
        ];
        const fitting = (round: (x: number) => number) =>
          sizes.filter((size) => rows.every(([tokens, ids]) => round(tokens / size) === ids));
        const ceil = fitting(Math.ceil);
        const floor = fitting(Math.floor);
        const expected =
          ceil.length === 1 ? ceil[0] : ceil.length === 0 && floor.length === 1 ? floor[0] : undefined;
        if (expected === undefined) expect(check(rows), `${rows}`).toThrow(/block size/);
        else expect(check(rows)().blockSize, `${rows}`).toBe(expected);
      }
    }
  });

  it('refuses several sizes, naming them', () => {
    expect(check([[1000, 2]])).toThrow(/ceil.*500 to 999.*floor.*334 to 500/s);
    expect(check([[0, 0]])).toThrow(/ceil.*1 or more/s);
  });

  it('refuses rows that no size fits, naming the line that broke the last one', () => {
    expect(
      check([
        [1000, 2],
        [1000, 3],
        [1, 1],
      ]),
    ).toThrow(/ceil.*none \(line 2.*floor.*none \(line 2/s);
    expect(check([[0, 1]])).toThrow(/none \(line 1/);
  });

  it('counts the rows that contradict a given size, by the convention that fits better', () => {
    const rows: [number, number][] = [
      [128, 2],
      [130, 2],
      [65, 1],
      [64, 5],
    ];
    expect(check(rows, 64)()).toEqual({
      blockSize: 64,
      convention: 'floor',
      inferred: false,
      contradictingRows: 1,
      firstContradictingLine: 4,
    });
  });

  it('refuses a given size that most rows contradict', () => {
    const error = expect.objectContaining({
      code: 'ERR_KVIDX_BAD_TRACE',
      message: expect.stringMatching(/block size 128 contradicts 2 of 3 rows \(first: line 1\)/),
    });
    expect(
      check(
        [
          [640, 10],
          [1280, 20],
          [64, 1],
        ],
        128,
      ),
    ).toThrow(error);
    expect(
      check(
        [
          [640, 10],
          [128, 1],
        ],
        128,
      )().contradictingRows,
    ).toBe(1);
  });
});
