import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Functions that the parent process calls by name; arguments and answers are cloned. */
export type Methods = Record<string, (...args: never[]) => unknown>;

interface Call {
  readonly id: number;
  readonly method: string;
  readonly args: never[];
}

type Answer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string };

/** The child's side: answers calls until the parent is gone. */
export function answerCalls(methods: Methods): void {
  process.on('message', async ({ id, method, args }: Call) => {
    try {
      process.send!({ id, value: await methods[method]!(...args) });
    } catch (error) {
      process.send!({ id, error: String((error as Error).stack ?? error) });
    }
  });
  process.on('disconnect', () => process.exit());
}

type Answered<M> = M extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never;

/** The parent's side of a process that runs `file` and answers the calls of `M`. */
export class Child<M extends Methods> {
  readonly call: { readonly [K in keyof M]: Answered<M[K]> };
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #nextId = 1;

  constructor(file: string, args: readonly string[]) {
    this.#process = fork(fileURLToPath(new URL(file, import.meta.url)), args, { serialization: 'advanced' });
    this.#process.on('message', (answer: Answer) => {
      const caller = this.#waiting.get(answer.id)!;
      this.#waiting.delete(answer.id);
      if ('error' in answer) caller.reject(new Error(`${file} ${args[0]}: ${answer.error}`));
      else caller.resolve(answer.value);
    });
    this.#process.on('close', (code, signal) => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`${file} ${args[0]} ended (${signal ?? code})`));
    });
    const methods = {
      get:
        (_: object, method: string) =>
        (...args: unknown[]) =>
          new Promise((resolve, reject) => {
            const id = this.#nextId++;
            this.#waiting.set(id, { resolve, reject });
            this.#process.send({ id, method, args });
          }),
    };
    this.call = new Proxy({}, methods) as typeof this.call;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const closed = once(this.#process, 'close');
    this.#process.kill();
    await closed;
  }
}
