const SHORT = new Intl.NumberFormat('en-US', { maximumFractionDigits: 3 });
const LONG = new Intl.NumberFormat('en-US', { maximumFractionDigits: 20 });

/** `12,000 against 3,000`: short, but never so short that two different numbers look alike. */
export function against(loser: number, winner: number): string {
  const short = [SHORT.format(loser), SHORT.format(winner)];
  const [a, b] = short[0] === short[1] ? [LONG.format(loser), LONG.format(winner)] : short;
  return `${a} against ${b}`;
}
