/**
 * A program that listens: a signal ends it cleanly, and so does the end of its parent. It tells its parent that it listens, or
 * whoever reads its output. `close` is told whether there is time for what is under way: nobody waits for the end at a
 * Ctrl-C, or behind a parent that is gone.
 */
export function run(told: object, line: string, close: (hasTime: boolean) => Promise<void>): void {
  const end = async (hasTime: boolean) => {
    await close(hasTime);
    process.exit();
  };
  process.once('SIGTERM', () => end(true));
  for (const cause of ['SIGINT', 'disconnect']) process.once(cause, () => end(false));
  // Only now: whoever is told may ask for the end at once.
  if (process.send === undefined) console.log(line);
  else process.send(told);
}

/** Why a program cannot start, without a stack; any other error would show it. */
export function fail(error: unknown): never {
  console.error((error as Error).message);
  process.exit(1);
}
