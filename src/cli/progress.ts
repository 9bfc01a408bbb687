import type { TraceReaderOptions } from '../trace/types.js';

export interface Progress {
  readonly onProgress: NonNullable<TraceReaderOptions['onProgress']>;
  stop(): void;
}

/** A bar on standard error while a file is read; nothing where that is no terminal, or the size is not known. */
export async function readingProgress(label: string): Promise<Progress> {
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
  let started = false;
  return {
    onProgress: (bytes, totalBytes) => {
      if (totalBytes === undefined) return;
      if (!started) bar.start(totalBytes, 0);
      started = true;
      bar.update(bytes);
    },
    stop: () => bar.stop(),
  };
}
