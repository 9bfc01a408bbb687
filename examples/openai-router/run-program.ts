/**
 * A program that listens: a signal ends it cleanly, and so does the end of its parent. It tells its parent that it listens, or
 * whoever reads its output.
 */
export function run(told: object, line: string, close: () => Promise<void>): void {
  const end = async () => {
    await close();
    process.exit();
  };
  for (const cause of ['SIGTERM', 'SIGINT', 'disconnect']) process.once(cause, end);
  // Only now: whoever is told may ask for the end at once.
  if (process.send === undefined) console.log(line);
  else process.send(told);
}

/** Why a program cannot start, without a stack; any other error would show it. */
export function fail(error: unknown): never {
  console.error((error as Error).message);
  process.exit(1);
}
