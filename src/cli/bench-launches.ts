import type { CatalogueEntry } from '../../bench/catalogue.js';
import type { ScenarioResult } from '../../bench/harness.js';
import { launch } from '../../bench/launch.js';
import { CliError } from './cli-error.js';
import { liveLine } from './live-text.js';

export interface LaunchesOptions {
  readonly launches: number;
  readonly quick?: boolean | undefined;
  readonly trace?: string | undefined;
  /** What this is, for people who wait. */
  readonly label: string;
  /** Is it worth launching this scenario again? */
  readonly goesOn?: (first: ScenarioResult) => boolean;
}

/**
 * Launches every scenario so many times, in turns, so that a slow spell of the machine does not meet all launches of one.
 * Throws CliError.
 */
export async function launchAll(
  entries: readonly CatalogueEntry[],
  { launches, quick, trace, label, goesOn = () => true }: LaunchesOptions,
): Promise<Map<CatalogueEntry, ScenarioResult[]>> {
  const results = new Map(entries.map((entry) => [entry, [] as ScenarioResult[]]));
  const line = liveLine();
  const tell = process.stderr.isTTY
    ? (text: string) => line.draw(text)
    : (text: string) => void process.stderr.write(`${text}\n`);
  try {
    for (let turn = 0; turn < launches; turn++) {
      const left = entries.filter(
        (entry) => turn === 0 || (!entry.onlyByName && goesOn(results.get(entry)![0]!)),
      );
      for (const [i, entry] of left.entries()) {
        const where = `${label}, launch ${turn + 1} of ${launches}, ${i + 1} of ${left.length}: ${entry.name}`;
        tell(where);
        const onProgress = process.stderr.isTTY
          ? (message: string) => tell(`${where}: ${message}`)
          : () => {};
        results.get(entry)!.push(await launch(entry, { quick, trace, onProgress }));
      }
    }
  } catch (error) {
    throw new CliError((error as Error).message);
  } finally {
    line.clear();
  }
  return results;
}
