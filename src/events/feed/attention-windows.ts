/**
 * TensorRT-LLM tells of the same tokens once for each attention window of a model: what counts is the largest, by rank.
 */
export class AttentionWindows {
  readonly #largest = new Map<number, number>();

  /** `larger`: what was told before was of a smaller window, and no longer counts. */
  meet(dpRank: number, windowSize: number | undefined): 'largest' | 'smaller' | 'larger' {
    if (windowSize === undefined) return 'largest';
    const largest = this.#largest.get(dpRank);
    if (largest !== undefined && windowSize < largest) return 'smaller';
    if (largest === windowSize) return 'largest';
    this.#largest.set(dpRank, windowSize);
    return largest === undefined ? 'largest' : 'larger';
  }
}
