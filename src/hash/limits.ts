/** Tokens a block, where none are given. */
export const DEFAULT_BLOCK_SIZE = 24;
/** Tokens a block, at most. */
export const MAX_BLOCK_SIZE = 4096;
