/**
 * Writes to standard output, a part when the one before is out. Stops where the reader is gone; any other failure is told
 * in `main`, which ends the process: what stands behind the call happens only when all has been written.
 */
export async function print(parts: Iterable<string | Uint8Array>): Promise<void> {
  for (const part of parts) if (!(await isTaken(part))) return;
}

function isTaken(part: string | Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    process.stdout.write(part, (error) => {
      if (!error) resolve(true);
      else if ((error as NodeJS.ErrnoException).code === 'EPIPE') resolve(false);
    });
  });
}
