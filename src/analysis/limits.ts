/** Sizes of one LRU curve: each costs 4 bytes a request. */
export const MAX_CURVE_SIZES = 1000;
