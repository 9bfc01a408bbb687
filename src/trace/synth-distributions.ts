import type { Quantiles } from '../random.js';

/**
 * What the generator draws from, as quantiles. Turns, results, answers, think times and milliseconds a token are near
 * those of 48 real coding-agent sessions (github.com/callanjfox/kv-cache-tester, Apache-2.0); the others are
 * assumptions.
 */
export const DISTRIBUTIONS = {
  /** Turns of a session, as a multiple of the median. */
  turns: [
    [0, 0.2],
    [0.1, 0.45],
    [0.25, 0.65],
    [0.5, 1],
    [0.75, 1.25],
    [0.9, 1.6],
    [1, 3],
  ],
  /** Tokens of an agent's system prompt and tool schemas. */
  boilerplate: [
    [0, 6_000],
    [0.5, 14_000],
    [1, 24_000],
  ],
  /** Tokens of a session's first message. */
  firstMessage: [
    [0, 200],
    [0.25, 700],
    [0.5, 1_500],
    [0.9, 3_500],
    [1, 10_000],
  ],
  /** Tokens of an answer, which the next prompt contains. */
  answer: [
    [0, 35],
    [0.1, 115],
    [0.25, 145],
    [0.5, 215],
    [0.75, 450],
    [0.9, 960],
    [0.99, 3_400],
    [1, 12_000],
  ],
  /** Tokens that tools and the user add between an answer and the next request. */
  result: [
    [0, 0],
    [0.1, 2],
    [0.25, 20],
    [0.5, 200],
    [0.75, 1_140],
    [0.9, 3_700],
    [0.99, 15_000],
    [1, 50_000],
  ],
  /** Tokens that replace a session's history when it is compacted. */
  summary: [
    [0, 2_000],
    [0.5, 8_000],
    [1, 20_000],
  ],
  /** Milliseconds that a worker takes for a token of its answer. */
  msPerToken: [
    [0, 8],
    [0.1, 15],
    [0.5, 23],
    [0.9, 34],
    [1, 56],
  ],
  /** Milliseconds from an answer's end to the next request. */
  thinkMs: [
    [0, 2_000],
    [0.1, 4_000],
    [0.25, 6_000],
    [0.5, 10_000],
    [0.75, 23_000],
    [0.9, 78_000],
    [0.99, 740_000],
    [1, 1_800_000],
  ],
  /** Milliseconds between the starts of two sessions. */
  startGapMs: [
    [0, 0],
    [1, 40_000],
  ],
} satisfies Record<string, Quantiles>;
