import { randomNumbers, seedOf, wordSource } from '../words.js';

/** What sessions are made like. Lengths are in words, each of which is about one token. */
export interface Shape {
  /** System prompt and tool schemas, the same for all sessions. */
  readonly boilerplate: number;
  /** The task that a session begins with. */
  readonly task: number;
  /** What each later turn adds, such as a tool's output; the answer before it is added too. */
  readonly turn: number;
  readonly turns: number;
  /** Tokens of an answer, at most. */
  readonly answer: number;
}

export const AGENTIC: Shape = { boilerplate: 4_000, task: 800, turn: 400, turns: 6, answer: 32 };

/** Own lengths vary by this share in both directions, so that streams do not march in step. */
const VARIATION = 0.4;
const TOOLS = 8;

export interface ChatBody {
  readonly model: string;
  readonly max_tokens: number;
  readonly tools: readonly unknown[];
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

/** A conversation whose prompt grows turn by turn: `body()` is to be sent, `answered(text)` goes on to the next turn. */
export class Session {
  readonly name: string;
  readonly #shape: Shape;
  readonly #tools: readonly unknown[];
  readonly #messages: { role: string; content: string }[];
  readonly #length: (mean: number) => number;
  readonly #words: (count: number) => string;
  #turn = 1;

  constructor(
    name: string,
    shape: Shape,
    { system, tools }: Boilerplate,
    words: (count: number) => string,
    length: (mean: number) => number,
  ) {
    this.name = name;
    this.#shape = shape;
    this.#length = length;
    this.#words = words;
    this.#tools = tools;
    this.#messages = [
      { role: 'system', content: system },
      { role: 'user', content: words(length(shape.task)) },
    ];
  }

  /** The turn that `body()` asks for, from 1 on. */
  get turn(): number {
    return this.#turn;
  }

  get isOver(): boolean {
    return this.#turn > this.#shape.turns;
  }

  body(model: string): ChatBody {
    return { model, max_tokens: this.#shape.answer, tools: this.#tools, messages: [...this.#messages] };
  }

  answered(text: string): void {
    this.#turn += 1;
    this.#messages.push({ role: 'assistant', content: text });
    this.#messages.push({ role: 'user', content: this.#words(this.#length(this.#shape.turn)) });
  }
}

/**
 * Sessions named `prefix-0`, `prefix-1`, …. The same seed makes the same; another prefix with the same seed makes sessions of
 * the same lengths with other words.
 */
export function makeSessions(count: number, prefix: string, seed: number, shape: Shape = AGENTIC): Session[] {
  const shared = boilerplate(shape.boilerplate);
  return Array.from({ length: count }, (_, i) => {
    const next = randomNumbers(nameSeed(`${seed} ${i}`));
    const length = (mean: number) => Math.round(mean * (1 + VARIATION * (2 * next() - 1)));
    const name = `${prefix}-${i}`;
    return new Session(name, shape, shared, writer(nameSeed(`${seed} ${name}`)), length);
  });
}

interface Boilerplate {
  readonly system: string;
  readonly tools: readonly unknown[];
}

function boilerplate(words: number): Boilerplate {
  const write = writer(nameSeed('boilerplate'));
  const parameters = { type: 'object', properties: { path: { type: 'string' } } };
  const tools = Array.from({ length: TOOLS }, (_, i) => {
    const description = write(Math.round(words / 2 / TOOLS));
    return { type: 'function', function: { name: `tool_${i}`, description, parameters } };
  });
  return { system: write(Math.round(words / 2)), tools };
}

/** Text of words that are a token each, without end. */
function writer(seed: number): (count: number) => string {
  const next = wordSource(seed);
  return (count) => Array.from({ length: count }, next).join(' ');
}

function nameSeed(name: string): number {
  return seedOf(Buffer.from(name));
}
