/**
 * A program that listens tells its parent so, or whoever reads its output; a signal ends it cleanly, and so does the end of its
 * parent.
 */
export function run(told: object, line: string, close: () => Promise<void>): void {
  if (process.send === undefined) console.log(line);
  else process.send(told);
  const end = async () => {
    await close();
    process.exit();
  };
  for (const cause of ['SIGTERM', 'SIGINT', 'disconnect']) process.once(cause, end);
}

/** Why a program cannot start, without a stack; any other error would show it. */
export function fail(error: unknown): never {
  console.error((error as Error).message);
  process.exit(1);
}
