import type { Answer } from './client.js';

export interface Quantiles {
  readonly median: number;
  readonly p99: number;
}

/** Of the requests on one path. Those that failed count only as such. */
export interface Summary {
  readonly requests: number;
  readonly failed: number;
  readonly promptTokens: number;
  /** Of these, as the workers tell it. */
  readonly cachedTokens: number;
  /** Until the first byte of the answer's text, and until its end. */
  readonly firstMs: Quantiles;
  readonly totalMs: Quantiles;
  /** From one token of an answer to the next, in the median of the requests. */
  readonly tokenMs: number;
}

export class Samples {
  readonly #answers: Answer[] = [];

  add(answer: Answer): void {
    this.#answers.push(answer);
  }

  summary(): Summary {
    const whole = this.#answers.filter(({ error }) => error === undefined);
    const sum = (of: (answer: Answer) => number) => whole.reduce((total, answer) => total + of(answer), 0);
    return {
      requests: this.#answers.length,
      failed: this.#answers.length - whole.length,
      promptTokens: sum(({ usage }) => usage?.promptTokens ?? 0),
      cachedTokens: sum(({ usage }) => usage?.cachedTokens ?? 0),
      firstMs: quantiles(whole.flatMap(({ firstMs }) => firstMs ?? [])),
      totalMs: quantiles(whole.map(({ totalMs }) => totalMs)),
      tokenMs: quantiles(whole.flatMap(pace)).median,
    };
  }
}

/** What one path takes more than the other. */
export function added(direct: Summary, router: Summary): { firstMs: Quantiles; totalMs: Quantiles } {
  const difference = (a: Quantiles, b: Quantiles) => ({ median: b.median - a.median, p99: b.p99 - a.p99 });
  return {
    firstMs: difference(direct.firstMs, router.firstMs),
    totalMs: difference(direct.totalMs, router.totalMs),
  };
}

/** By nearest rank; NaN of nothing. */
export function quantiles(values: readonly number[]): Quantiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  return { median: at(0.5), p99: at(0.99) };
}

function pace({ firstMs, totalMs, usage }: Answer): number[] {
  if (firstMs === undefined || usage === undefined || usage.completionTokens < 2) return [];
  return [(totalMs - firstMs) / (usage.completionTokens - 1)];
}
