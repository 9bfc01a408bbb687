import { rankKey } from './late-feed.js';
import { printable } from './printable.js';

/** What befell streams, told as it comes: the same thing of a rank once, though it may go on for ever. */
export class ToldTroubles {
  readonly #tell: (line: string) => void;
  readonly #told = new Set<string>();
  readonly #last = new Map<string, string>();

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  add(worker: string, dpRank: number, problem: string): void {
    this.#last.set(rankKey(worker, dpRank), problem);
    const line = `${printable(worker)} rank ${dpRank}: ${printable(problem, 200)}`;
    if (this.#told.has(line)) return;
    this.#told.add(line);
    this.#tell(line);
  }

  lastOf(worker: string, dpRank: number): string | undefined {
    return this.#last.get(rankKey(worker, dpRank));
  }
}
