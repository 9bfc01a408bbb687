import { abortable } from './abortable.js';
import type { Clock } from './clock.js';
import { type Reply, readAnswer } from './reply.js';
import type { AdmissionRequest, DispatcherOptions } from './types.js';

export interface AskOptions {
  readonly admit: DispatcherOptions['admit'];
  readonly timeoutMs: number;
  /** Must not call back before `after` returned. */
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** Gets what a call answers that was given up. Must not throw. */
  readonly onLate: (reply: Reply) => void;
}

/**
 * One admit call. Resolves within `timeoutMs` whatever the call does, short of blocking the thread; rejects only with
 * the reason of an aborted `signal`.
 */
export function ask(
  worker: string,
  request: Omit<AdmissionRequest, 'signal'>,
  { admit, timeoutMs, clock, signal, onLate }: AskOptions,
): Promise<Reply> {
  return abortable(signal, (resolve) => {
    const controller = new AbortController();
    let waiting = true;
    const settle = (reply: Reply): void => {
      waiting = false;
      cancelTimer();
      resolve(reply);
    };
    const cancelTimer = clock.after(timeoutMs, () => {
      settle({ outcome: 'timeout', reserved: false });
      controller.abort(new DOMException('no answer in time', 'TimeoutError'));
    });
    // Not called before the next microtask, so that whatever it does, abort included, finds this function at its end.
    const answered = Promise.resolve().then((): unknown => {
      controller.signal.throwIfAborted();
      return admit(worker, { ...request, signal: controller.signal });
    });
    answered.then(
      (answer) => {
        const reply = readAnswer(answer);
        if (waiting) settle(reply);
        else onLate(reply);
      },
      (error: unknown) => {
        if (waiting) settle({ outcome: 'error', reserved: false, error });
      },
    );
    return () => {
      waiting = false;
      cancelTimer();
      controller.abort(signal?.reason);
    };
  });
}
