import type { SketchInspection, TestedHashes } from './sketch-inspection.js';

const HASHES_A_PART = 1000;

/** What `--json` prints of hashes tested: a line each, in their order. */
export interface TestedJson extends Omit<TestedHashes, 'hashes' | 'answers'> {
  readonly hashes: readonly {
    /** Decimal. */
    readonly hash: string;
    readonly positive: boolean;
  }[];
}

/** The object in parts: with millions of hashes it is longer than a string may be. */
export function* inspectionJson(
  inspection: SketchInspection,
  tested: TestedHashes | null,
): Generator<string> {
  if (tested === null) {
    yield `${JSON.stringify({ ...inspection, tested }, null, 2)}\n`;
    return;
  }
  const { hashes, answers, ...counts } = tested;
  const around = JSON.stringify({ ...inspection, tested: { ...counts, hashes: [] } }, null, 2);
  const end = around.lastIndexOf(']');
  yield around.slice(0, end);
  for (let begin = 0; begin < hashes.length; begin += HASHES_A_PART) {
    const part = hashes.subarray(begin, begin + HASHES_A_PART);
    const lines = Array.from(
      part,
      (hash, i) => `\n      {"hash": "${hash}", "positive": ${answers[begin + i] === 1}}`,
    );
    yield `${begin === 0 ? '' : ','}${lines.join()}`;
  }
  yield `\n    ${around.slice(end)}\n`;
}
