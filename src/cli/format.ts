/** 0.97327 → `97.33 %`. */
export function percent(rate: number): string {
  return `${(rate * 100).toFixed(2)} %`;
}

export function gib(bytes: number): string {
  const n = bytes / 2 ** 30;
  return `${n < 10 ? n.toFixed(2) : n.toFixed(1)} GiB`;
}

export function mib(bytes: number): string {
  const n = bytes / 2 ** 20;
  return `${n < 10 ? n.toFixed(2) : n.toFixed(1)} MiB`;
}

/** `rate` of `width` cells, in eighths of a cell. */
export function bar(rate: number, width: number): string {
  const eighths = Math.round(rate * width * 8);
  const rest = eighths % 8;
  return '█'.repeat(Math.floor(eighths / 8)) + (rest > 0 ? ' ▏▎▍▌▋▊▉'[rest] : '');
}
