import type { SketchFrame } from '../types.js';

/** Of one worker; the oldest are dropped, and missed later. */
const MAX_FRAMES = 256;

/** Bytes that frames of all workers may take while they wait. */
export class WaitingRoom {
  #free: number;

  constructor(maxBytes: number) {
    this.#free = maxBytes;
  }

  take(bytes: number): boolean {
    if (bytes > this.#free) return false;
    this.#free -= bytes;
    return true;
  }

  leave(bytes: number): void {
    this.#free += bytes;
  }
}

/** Frames of one worker that came while its latest one was read. */
export class WaitingFrames {
  readonly #room: WaitingRoom;
  readonly #frames: { frame: SketchFrame; bytes: number }[] = [];

  constructor(room: WaitingRoom) {
    this.#room = room;
  }

  push(frame: SketchFrame, bytes: number): void {
    if (this.#frames.length === MAX_FRAMES) this.#dropOldest();
    while (!this.#room.take(bytes)) {
      if (this.#frames.length === 0) return;
      this.#dropOldest();
    }
    this.#frames.push({ frame, bytes });
  }

  /** In the order they came; none waits any more. */
  drain(): SketchFrame[] {
    const frames = this.#frames.map(({ frame }) => frame);
    while (this.#frames.length > 0) this.#dropOldest();
    return frames;
  }

  #dropOldest(): void {
    this.#room.leave(this.#frames.shift()!.bytes);
  }
}
