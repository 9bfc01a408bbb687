import { DEGRADED_REASONS, type DegradedReason } from '../stream/types.js';

/** Who marks a rank: a stream, by its number, or the ids of TensorRT-LLM's events. */
export type Marker = number | 'tensorrt';

/** Why what is known of a rank may be wrong: each source that tells of it by itself, the most serious reason is shown. */
export class DegradedMarks {
  readonly #marks = new Map<Marker, DegradedReason>();
  #worst: DegradedReason | undefined;

  get worst(): DegradedReason | undefined {
    return this.#worst;
  }

  of(marker: Marker): DegradedReason | undefined {
    return this.#marks.get(marker);
  }

  set(marker: Marker, reason: DegradedReason | undefined): void {
    if (reason === undefined) this.#marks.delete(marker);
    else this.#marks.set(marker, reason);
    const present = [...this.#marks.values()];
    this.#worst = DEGRADED_REASONS.find((each) => present.includes(each));
  }
}
