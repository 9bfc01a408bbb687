/** The part of the npm package `bloom-filters` that is compared. */
export interface RivalFilter {
  add(key: string): void;
  has(key: string): boolean;
}

/** A new filter of that package for so many keys; undefined where it is not installed. */
export async function rivalFilter(): Promise<((keys: number, rate: number) => RivalFilter) | undefined> {
  try {
    const { BloomFilter } = (await import('bloom-filters')).default;
    return (keys, rate) => BloomFilter.create(keys, rate);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
