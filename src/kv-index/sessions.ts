import { checkName } from '../validate.js';

/** Names of the sessions that own blocks, kept in step with the core's numbers. */
export class SessionTable {
  readonly #numbers = new Map<string, number>();
  readonly #names = new Map<number, string>();

  /** 0: the session owns nothing. */
  numberOf(name: string): number {
    return this.#numbers.get(name) ?? 0;
  }

  add(name: string, number: number): void {
    this.#numbers.set(name, number);
    this.#names.set(number, name);
  }

  /** Forgets a number, which the core may hand out again, and answers its name. */
  delete(number: number): string {
    const name = this.#names.get(number)!;
    this.#names.delete(number);
    this.#numbers.delete(name);
    return name;
  }

  entries(): IterableIterator<[string, number]> {
    return this.#numbers.entries();
  }
}

export const checkSessionName = (name: unknown): string => checkName('session', name);
