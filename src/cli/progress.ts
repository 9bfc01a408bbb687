import type { TraceReaderOptions } from '../trace/types.js';

export interface Progress {
  readonly onProgress: NonNullable<TraceReaderOptions['onProgress']>;
  stop(): void;
}

/**
 * A bar on standard error while a file is read, as often as there are passes; nothing where that is no terminal, or the
 * size is not known.
 */
export async function readingProgress(label: string, passes = 1): Promise<Progress> {
  if (!process.stderr.isTTY) return { onProgress: () => {}, stop: () => {} };
  const { SingleBar, Presets } = (await import('cli-progress')).default;
  const bar = new SingleBar(
    {
      format: `${label} {bar} {percentage} % | {eta_formatted} left`,
      stream: process.stderr,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
  let last = 0;
  let pass = 0;
  return {
    onProgress: (bytes, totalBytes) => {
      if (totalBytes === undefined) return;
      if (last === 0) bar.start(totalBytes * passes, 0);
      if (bytes <= last) pass += 1; // within a pass they only rise
      last = bytes;
      bar.update(pass * totalBytes + bytes);
    },
    stop: () => bar.stop(),
  };
}
