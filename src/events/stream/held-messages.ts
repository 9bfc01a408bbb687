export interface HeldMessage {
  readonly sequence: number;
  /** Aliased. */
  readonly payload: Uint8Array;
  readonly receivedMs: number;
}

/** Messages that wait for those before them, within bounds. Constant time, but for `lowest`, which looks at all of them. */
export class HeldMessages {
  readonly #messages = new Map<number, HeldMessage>();
  readonly #maxMessages: number;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxMessages: number, maxBytes: number) {
    this.#maxMessages = maxMessages;
    this.#maxBytes = maxBytes;
  }

  get size(): number {
    return this.#messages.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Undefined: no message with that number is held. */
  isSame(sequence: number, payload: Uint8Array): boolean | undefined {
    const held = this.#messages.get(sequence);
    return held && Buffer.compare(held.payload, payload) === 0;
  }

  hasRoomFor(payload: Uint8Array): boolean {
    return this.#messages.size < this.#maxMessages && this.#bytes + payload.length <= this.#maxBytes;
  }

  /** There is room, and none with that number is held. */
  add(message: HeldMessage): void {
    this.#messages.set(message.sequence, message);
    this.#bytes += message.payload.length;
  }

  take(sequence: number): HeldMessage | undefined {
    const message = this.#messages.get(sequence);
    if (message === undefined) return undefined;
    this.#messages.delete(sequence);
    this.#bytes -= message.payload.length;
    return message;
  }

  lowest(): number | undefined {
    let lowest: number | undefined;
    for (const sequence of this.#messages.keys()) {
      if (lowest === undefined || sequence < lowest) lowest = sequence;
    }
    return lowest;
  }

  clear(): void {
    this.#messages.clear();
    this.#bytes = 0;
  }
}
