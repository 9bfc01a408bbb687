import type { PublisherSettings } from './publisher-options.js';
import { epochOfWish } from './wish.js';

/** Hears of subscribers that want a full frame, and says when to send one: at once, but no more often than `grantEveryMs`. */
export class Wishes {
  readonly #settings: PublisherSettings;
  readonly #onWish: (epoch: number | undefined) => void;
  readonly #grant: () => void;
  #count = 0;
  #isOpen = false;
  #isPaused = false;
  #isClosed = false;
  /** While it runs nothing is granted. */
  #cooling: NodeJS.Timeout | undefined;
  #isListening = false;
  #unlisten: (() => Promise<void>) | undefined;

  /** `onWish`: who has a sketch of this epoch, or none, wants a full frame; `grant`: it is time for one. */
  constructor(settings: PublisherSettings, onWish: (epoch: number | undefined) => void, grant: () => void) {
    this.#settings = settings;
    this.#onWish = onWish;
    this.#grant = grant;
  }

  /** That came in so far. */
  get count(): number {
    return this.#count;
  }

  /** Subscribes in the background, unless that is done; after a failure the next call tries again. */
  listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    void this.#subscribe();
  }

  /** Nothing is granted until `resume`. */
  pause(): void {
    this.#isPaused = true;
    this.#isOpen = false;
    clearTimeout(this.#cooling);
    this.#cooling = undefined;
  }

  resume(): void {
    this.#isPaused = false;
  }

  async close(): Promise<void> {
    this.pause();
    this.#isClosed = true;
    await this.#unlisten?.();
  }

  async #subscribe(): Promise<void> {
    const { transport, channels, tell } = this.#settings;
    try {
      this.#unlisten = await transport.subscribe(channels.wishes, (bytes) => this.#heard(bytes));
      if (this.#isClosed) await this.close();
    } catch (error) {
      this.#isListening = false;
      if (!this.#isClosed) tell(error);
    }
  }

  #heard(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    this.#count += 1;
    this.#onWish(epochOfWish(bytes));
    if (this.#isPaused) return;
    this.#isOpen = true;
    this.#grantOpen();
  }

  #grantOpen(): void {
    if (!this.#isOpen || this.#cooling) return;
    this.#isOpen = false;
    this.#grant();
    this.#cooling = setTimeout(() => {
      this.#cooling = undefined;
      this.#grantOpen();
    }, this.#settings.grantEveryMs).unref();
  }
}
