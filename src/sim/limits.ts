/** Workers of a simulated fleet. */
export const MAX_SIM_WORKERS = 1024;
