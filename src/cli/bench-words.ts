import type { Target } from '../../bench/figures.js';
import { grouped } from '../text.js';

/** Three digits, or all of a whole part. */
export function digits(value: number): string {
  return value >= 100 ? grouped(Math.round(value)) : value.toPrecision(3);
}

/** A share, as percents of two digits at most. */
export function percents(share: number): string {
  const value = share * 100;
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} %`;
}

export function bounds({ atLeast, atMost }: Target): string {
  if (atLeast !== undefined && atMost !== undefined) return `${atLeast} … ${atMost}`;
  return atLeast !== undefined ? `≥ ${atLeast}` : `≤ ${atMost}`;
}

/** `12.1 ns/block`, `20.4 ×`. */
export function quantity(value: number, unit: string): string {
  return `${digits(value)} ${unitWords(unit)}`;
}

export function unitWords(unit: string): string {
  return unit === 'x' ? '×' : unit;
}

/** `± 0.7 %`; nothing of a single launch, which has no error to tell. */
export function marginWords({
  launches,
  margin,
}: {
  readonly launches: readonly number[];
  readonly margin: number;
}): string {
  return launches.length > 1 ? `± ${percents(margin)}` : '';
}
