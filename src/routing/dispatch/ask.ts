import type { AdmitReason, AdmittedAnswer } from '../admit.js';
import { abortable } from './abortable.js';
import type { Clock } from './clock.js';
import type { AdmissionRequest, Attempt, DispatcherOptions } from './types.js';

/** What came of asking a worker. */
export interface Reply {
  readonly outcome: Attempt['outcome'];
  /** It said that it admits the request, if nonsense otherwise: it may have reserved room. */
  readonly reserved: boolean;
  /** Finite, 0 or more. */
  readonly recommendedPauseMs?: number | undefined;
  readonly error?: unknown;
}

export interface AskOptions {
  readonly admit: DispatcherOptions['admit'];
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** Gets what a call answers that was given up. Must not throw. */
  readonly onLate: (reply: Reply) => void;
}

const ADMITTED: ReadonlySet<unknown> = new Set<AdmittedAnswer['as']>(['direct', 'seed', 'reseed']);
const REASONS: ReadonlySet<unknown> = new Set<AdmitReason>([
  'real-large-append',
  'no-d-capacity',
  'session-not-resident-no-capacity',
]);

export const isAdmitted = (outcome: Attempt['outcome']): outcome is AdmittedAnswer['as'] =>
  ADMITTED.has(outcome);

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

/** Reads each field once: the answer comes from outside, and may be anything. */
function readAnswer(answer: unknown): Reply {
  let reserved = false;
  try {
    const fields = answer as Record<string, unknown>;
    const { admitted } = fields;
    reserved = admitted === true;
    const { as, reason, residentTokens, requiredTokens, availableTokens, recommendedPauseMs } = fields;
    const figures = [residentTokens, requiredTokens, availableTokens].every(Number.isFinite);
    if (figures && reserved && ADMITTED.has(as)) return { outcome: as as AdmittedAnswer['as'], reserved };
    if (figures && admitted === false && REASONS.has(reason)) {
      const pause = Number.isFinite(recommendedPauseMs) ? (recommendedPauseMs as number) : -1;
      return {
        outcome: reason as AdmitReason,
        reserved,
        recommendedPauseMs: pause >= 0 ? pause : undefined,
      };
    }
  } catch {
    // A getter threw, or there was nothing to read from.
  }
  return { outcome: 'nonsense', reserved };
}
