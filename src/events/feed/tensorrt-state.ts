/** What the events of TensorRT-LLM's JSON said before, of one rank. */
export interface SavedTensorRt {
  readonly window: number | null;
  readonly eventId: number | null;
}

/**
 * Order and windows of one rank's events. Their ids rise by 1; an engine that begins anew begins at 0. The same tokens are
 * told once for each attention window of a model: what counts is the largest.
 */
export class TensorRtState {
  #window: number | undefined;
  #eventId: number | undefined;

  /** `larger`: what was told before was of a smaller window, and no longer counts. */
  meetWindow(size: number | undefined): 'largest' | 'smaller' | 'larger' {
    const largest = this.#window;
    if (size === undefined || size === largest) return 'largest';
    if (largest !== undefined && size < largest) return 'smaller';
    this.#window = size;
    return largest === undefined ? 'largest' : 'larger';
  }

  meetId(id: number): 'next' | 'late' | 'gap' | 'repeat' | 'restart' {
    const last = this.#eventId;
    if (last === id) return 'repeat';
    this.#eventId = id;
    if (last === undefined) return id === 0 ? 'next' : 'late';
    if (id < last) return 'restart';
    return id === last + 1 ? 'next' : 'gap';
  }

  /** The engine begins anew: its windows may be others. */
  forgetWindow(): void {
    this.#window = undefined;
  }

  save(): SavedTensorRt {
    return { window: this.#window ?? null, eventId: this.#eventId ?? null };
  }

  load({ window, eventId }: SavedTensorRt): void {
    this.#window = window ?? undefined;
    this.#eventId = eventId ?? undefined;
  }
}
