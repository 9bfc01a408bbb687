import { invalidArgType } from '../../errors.js';
import { checkChoice } from '../../validate.js';
import type { AdmitReason, AdmittedAnswer } from '../admit.js';
import type { Attempt } from './types.js';

/** What came of asking a worker. */
export interface Reply {
  readonly outcome: Attempt['outcome'];
  /** It said that it admits the request, if nonsense otherwise: it may have reserved room. */
  readonly reserved: boolean;
  /** Finite, 0 or more. */
  readonly recommendedPauseMs?: number | undefined;
  /** Of the session, as it was answered, and what goes with it. */
  readonly sketch?: { readonly frame: unknown; readonly residentTokens: number | undefined };
  /** What the call threw, or what is wrong with its answer. */
  readonly error?: unknown;
}

const ADMITTED: readonly AdmittedAnswer['as'][] = ['direct', 'seed', 'reseed'];
const REASONS: readonly AdmitReason[] = [
  'real-large-append',
  'no-d-capacity',
  'session-not-resident-no-capacity',
];

export const isAdmitted = (outcome: Attempt['outcome']): outcome is AdmittedAnswer['as'] =>
  (ADMITTED as readonly string[]).includes(outcome);

/** Reads each field once: the answer comes from outside, and may be anything. Never throws. */
export function readAnswer(answer: unknown): Reply {
  let reserved = false;
  try {
    if (typeof answer !== 'object' || answer === null) throw invalidArgType('answer', 'an object', answer);
    const fields = answer as Record<string, unknown>;
    const { admitted } = fields;
    if (typeof admitted !== 'boolean') throw invalidArgType('admitted', 'a boolean', admitted);
    reserved = admitted;
    const told = { reserved, ...sketchOf(fields) };
    if (admitted) return { outcome: checkChoice('as', fields.as, ADMITTED), ...told };
    const outcome = checkChoice('reason', fields.reason, REASONS);
    return { outcome, ...told, recommendedPauseMs: pauseOf(fields.recommendedPauseMs) };
  } catch (error) {
    // One of the above, or what a getter threw.
    return { outcome: 'nonsense', reserved, error };
  }
}

function sketchOf({ sketch, residentTokens }: Record<string, unknown>): Pick<Reply, 'sketch'> {
  if (sketch === undefined) return {};
  const isWhole = Number.isSafeInteger(residentTokens) && (residentTokens as number) >= 0;
  return { sketch: { frame: sketch, residentTokens: isWhole ? (residentTokens as number) : undefined } };
}

function pauseOf(ms: unknown): number | undefined {
  return typeof ms === 'number' && Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}
