import type { Dispatcher } from 'undici';
import { type Answer, streamChat } from './client.js';
import type { Session } from './sessions.js';

export interface Round {
  readonly sessions: readonly Session[];
  /** Where the requests of the session at this place go. */
  readonly urlOf: (i: number) => string;
  readonly model: string;
  readonly dispatcher: Dispatcher;
  readonly onAnswer: (answer: Answer) => void;
}

/** Streams do not begin all at once: they would wait for each other, and so measure that. */
const BEGINS_WITHIN_MS = 400;

/** All sessions at the same time, each turn by turn. One whose request fails is over. */
export async function runRound({ sessions, urlOf, model, dispatcher, onAnswer }: Round): Promise<void> {
  await Promise.all(
    sessions.map(async (session, i) => {
      await new Promise((resolve) => setTimeout(resolve, (i * BEGINS_WITHIN_MS) / sessions.length));
      while (!session.isOver) {
        const answer = await streamChat(urlOf(i), session.body(model), { session: session.name, dispatcher });
        onAnswer(answer);
        if (answer.error !== undefined) return;
        session.answered(answer.text);
      }
    }),
  );
}
