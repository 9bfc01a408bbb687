import { clearScreenDown, moveCursor } from 'node:readline';
import type { WriteStream } from 'node:tty';

/** A text on a terminal that is drawn again in its place. What would not fit the terminal is cut. */
export class LiveText {
  readonly #terminal: WriteStream;
  #lines = 0;

  constructor(terminal: WriteStream) {
    this.#terminal = terminal;
  }

  draw(text: string): void {
    const { columns = 80, rows = 24 } = this.#terminal;
    const lines = text.split('\n').map((line) => [...line].slice(0, columns).join(''));
    const shown = lines.slice(0, Math.max(1, rows - 1));
    this.clear();
    this.#terminal.write(`${shown.join('\n')}\n`);
    this.#lines = shown.length;
  }

  clear(): void {
    if (this.#lines === 0) return;
    moveCursor(this.#terminal, -this.#terminal.columns, -this.#lines);
    clearScreenDown(this.#terminal);
    this.#lines = 0;
  }
}

/** One line on standard error that says how far something is; nothing where that is no terminal. */
export function liveLine(): { draw(text: string): void; clear(): void } {
  return process.stderr.isTTY ? new LiveText(process.stderr) : { draw: () => {}, clear: () => {} };
}
