import { LRUCache } from 'lru-cache';

/** Who tries again and again meets the same trouble: what was told is not told again until it has been away for so long. */
const QUIET_MS = 60_000;
const MOST_TEXTS = 1000;

export function once(tell: (text: string) => void, quietMs = QUIET_MS): (text: string) => void {
  const told = new LRUCache<string, true>({ max: MOST_TEXTS, ttl: quietMs, updateAgeOnGet: true });
  return (text) => {
    if (told.get(text)) return;
    told.set(text, true);
    tell(text);
  };
}
