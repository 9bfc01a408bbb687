import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';

/** What a program tells its parent, once, when it listens. */
export interface Listening {
  readonly url: string;
  /** Where it publishes KV events, and replays them. */
  readonly events?: string;
  readonly replay?: string;
}

export interface ProgramOptions {
  readonly name: string;
  /** A JavaScript file. */
  readonly file: string;
  readonly args: readonly string[];
  /** Of what it prints, to either output. */
  readonly onLine?: ((line: string) => void) | undefined;
}

/** Of what a program printed, so many lines are told when it does not start. */
const LINES_KEPT = 20;
const STARTS_WITHIN_MS = 30_000;
/** What does not end by itself after a SIGTERM is killed. */
const ENDS_WITHIN_MS = 3_000;

/** A process of Node that runs until it is stopped, or its parent ends: the channel between them is closed then. */
export class Program {
  readonly name: string;
  /** Rejects with what went wrong, told with what the program printed. */
  readonly listening: Promise<Listening>;
  /** How it ended, when it has. Never rejects. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;

  constructor({ name, file, args, onLine }: ProgramOptions) {
    this.name = name;
    this.#child = fork(file, args, {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      execArgv: [], // not what this process was started with, such as a debugger's port
      detached: true, // Ctrl-C is for the parent alone, which stops its programs in its own order
    });
    const lines: string[] = [];
    for (const output of [this.#child.stdout!, this.#child.stderr!]) {
      createInterface(output).on('line', (line) => {
        if (lines.push(line) > LINES_KEPT) lines.shift();
        onLine?.(line);
      });
    }
    this.ended = this.#untilEnd();
    this.listening = this.#untilListening(lines);
    this.listening.catch(() => {}); // who waits for it hears of it; who stops the program first does not wait
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isRunning(): boolean {
    const { pid, exitCode, signalCode } = this.#child;
    return pid !== undefined && exitCode === null && signalCode === null;
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  /** Asks it to end, and insists. */
  async stop(): Promise<void> {
    const insist = setTimeout(() => this.#child.kill('SIGKILL'), ENDS_WITHIN_MS);
    this.#child.kill('SIGTERM');
    await this.ended;
    clearTimeout(insist);
  }

  #untilEnd(): Promise<string> {
    return new Promise((resolve) => {
      this.#child.once('error', ({ message }) => {
        if (!this.isRunning) resolve(message); // it could not be started
      });
      // Not `exit`: what it printed last is read by then.
      this.#child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
  }

  #untilListening(lines: readonly string[]): Promise<Listening> {
    return new Promise((resolve, reject) => {
      const fail = (what: string) => reject(new Error([`${this.name} ${what}`, ...lines].join('\n  ')));
      const timer = setTimeout(() => {
        fail(`did not start: it does not listen after ${STARTS_WITHIN_MS / 1000} s`);
        this.#child.kill('SIGKILL');
      }, STARTS_WITHIN_MS);
      this.#child.once('message', (told) => {
        clearTimeout(timer);
        resolve(told as Listening);
      });
      this.ended.then((how) => {
        clearTimeout(timer);
        fail(`did not start (${how})`);
      });
    });
  }
}
