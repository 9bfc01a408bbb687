/** What went wrong, said to the person at the terminal: printed without a stack, exit code 1. */
export class CliError extends Error {}
