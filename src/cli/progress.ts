import type { TraceReaderOptions } from '../trace/types.js';

export interface Progress {
  readonly onProgress: NonNullable<TraceReaderOptions['onProgress']>;
  /** The file is read from its start again. */
  nextPass(): void;
  stop(): void;
}

/**
 * A bar on standard error while a file is read, as often as there are passes; nothing where that is no terminal, or the
 * size is not known.
 */
export async function readingProgress(label: string, passes = 1): Promise<Progress> {
  if (!process.stderr.isTTY) return { onProgress: () => {}, nextPass: () => {}, stop: () => {} };
  const { SingleBar, Presets } = (await import('cli-progress')).default;
  const bar = new SingleBar(
    {
      format: `${label} {bar} {percentage} % | {eta_formatted} left`,
      stream: process.stderr,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
  let started = false;
  let pass = 0;
  return {
    onProgress: (bytes, totalBytes) => {
      if (totalBytes === undefined) return;
      if (!started) bar.start(totalBytes * passes, 0);
      started = true;
      bar.update(pass * totalBytes + bytes);
    },
    nextPass: () => {
      pass += 1;
    },
    stop: () => bar.stop(),
  };
}
