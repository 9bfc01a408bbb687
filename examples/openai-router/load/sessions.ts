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
    const next = random(seedOf(`${seed} ${i}`));
    const length = (mean: number) => Math.round(mean * (1 + VARIATION * (2 * next() - 1)));
    const name = `${prefix}-${i}`;
    return new Session(name, shape, shared, writer(seedOf(`${seed} ${name}`)), length);
  });
}

interface Boilerplate {
  readonly system: string;
  readonly tools: readonly unknown[];
}

function boilerplate(words: number): Boilerplate {
  const write = writer(seedOf('boilerplate'));
  const parameters = { type: 'object', properties: { path: { type: 'string' } } };
  const tools = Array.from({ length: TOOLS }, (_, i) => {
    const description = write(Math.round(words / 2 / TOOLS));
    return { type: 'function', function: { name: `tool_${i}`, description, parameters } };
  });
  return { system: write(Math.round(words / 2)), tools };
}

const WORDS = (
  'the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one you ' +
  'were all her she there would their we him been has when who will no more if out so said what up its about into than them ' +
  'can only other new some could time these two may then do first any my now such like our over man me even most made after'
).split(' ');

/** Text of words that are a token each, without end. */
function writer(seed: number): (count: number) => string {
  const next = random(seed);
  return (count) => Array.from({ length: count }, () => WORDS[Math.floor(next() * WORDS.length)]).join(' ');
}

/** Numbers from 0 to below 1: a linear congruential generator, of which the high bits are good enough. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** FNV-1a. */
function seedOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(name)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
