/** 1234567 → `1,234,567`. */
export function grouped(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 block`, `2 blocks`, `1,234 blocks`. */
export function counted(n: number, noun: string): string {
  return `${grouped(n)} ${noun}${n === 1 ? '' : 's'}`;
}
