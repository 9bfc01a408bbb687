import { EventRecorder } from '../events/recording/index.js';
import type { RecordedMessage } from '../events/recording/types.js';
import type { StreamEffect, StreamSink } from '../events/stream/types.js';
import { cannotWrite } from './out-file.js';

const TAKEN: StreamEffect = { isDamaged: false, isCleared: false };

/** Records up to so many messages, into a file that is opened with the first: one that is there is not replaced in vain. */
export class LateRecorder {
  readonly #file: string;
  readonly #most: number;
  readonly #onEnd: () => void;
  #recorder: EventRecorder | undefined;
  #opening: Promise<void> | undefined;
  /** Until the file is open. */
  readonly #waiting: RecordedMessage[] = [];
  #messages = 0;
  #failure: unknown;

  /** `onEnd`: there are as many as are wanted, or the file takes no more. */
  constructor(file: string, most: number, onEnd: () => void) {
    this.#file = file;
    this.#most = most;
    this.#onEnd = onEnd;
  }

  get messages(): number {
    return this.#messages;
  }

  get bytes(): number {
    return this.#recorder?.bytes ?? 0;
  }

  /** What comes behind the last message that is wanted is left out. */
  sink(worker: string, dpRank: number): StreamSink {
    return {
      apply: ({ sequence, receivedMs, payload }) => {
        if (this.#messages < this.#most && this.#failure === undefined) {
          this.#messages++;
          this.#take({ worker, dpRank, sequence, receivedMs, payload });
          if (this.#messages === this.#most) this.#onEnd();
        }
        return TAKEN;
      },
      restarted: () => {},
      degraded: () => {},
    };
  }

  /** Resolves when all is in the file; rejects where it cannot take all. */
  async close(): Promise<void> {
    await this.#opening;
    await this.#recorder?.close();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #take(message: RecordedMessage): void {
    if (this.#recorder === undefined) {
      this.#waiting.push(message);
      this.#opening ??= this.#open().catch((error) => this.#fail(error));
      return;
    }
    try {
      this.#recorder.write(message);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #open(): Promise<void> {
    try {
      this.#recorder = await EventRecorder.open(this.#file, { onError: (error) => this.#fail(error) });
    } catch (error) {
      throw cannotWrite(this.#file, (error as Error).cause);
    }
    for (const message of this.#waiting.splice(0)) this.#take(message);
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#onEnd();
  }
}
