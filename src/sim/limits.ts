/** Workers of a simulated fleet. */
export const MAX_SIM_WORKERS = 1024;
/** Tokens a block: what a router takes. */
export const MAX_SIM_BLOCK_SIZE = 4096;
