import { invalidArgType, outOfRange } from '../errors.js';
import { checkBoolean, checkInteger, checkOptions, checkTime } from '../validate.js';
import type { AdmittedAs } from './types.js';

/*
 * A worker's own decision, for one request that a router offers it:
 *
 *   resident?   the session is known here, and some of the prompt is here
 *   append      = inputLength − residentTokens: what would be prefilled behind the resident prefix
 *   fits?       pinned + inputLength − pinned of this prompt + reservedOutput ≤ ρ · pool
 *
 *                      │ append > τ           │ fits           │ does not fit
 *   resident           │ real-large-append    │ direct         │ no-d-capacity
 *   not resident       │                      │ seed | reseed  │ session-not-resident-no-capacity
 *
 * The trap: what of this session is resident but not pinned is evictable like all the rest, and must not be counted
 * beside inputLength, which has it already. Counted twice, a session over ρ / 2 of the pool could never be direct.
 */

const MAX = Number.MAX_SAFE_INTEGER;

export interface AdmitQuestion {
  /** Tokens of the prompt. */
  readonly inputLength: number;
  /** Leading blocks of the prompt that are here. */
  readonly residentBlocks: number;
  /** Tokens a block. Default 24. */
  readonly blockSize?: number;
  /** This worker has served the session, and remembers. */
  readonly sessionKnown: boolean;
  /** The session was served nowhere yet. */
  readonly firstTurn: boolean;
  /** Tokens of running and admitted requests; the rest of the pool is evictable. */
  readonly pinnedTokens: number;
  /** Of those, tokens of this very prompt. Default 0. */
  readonly pinnedPromptTokens?: number;
  /** Tokens kept free for the answer. Default 0. */
  readonly reservedOutput?: number;
  /** Tokens that the KV cache holds. */
  readonly poolTokens: number;
  /** Pinned tokens that come free each second, as measured: gives a refusal for want of room its pause. */
  readonly freeTokensPerSecond?: number;
  /** Makes the sketch of what the worker holds of the session (`sessionSketch`), where the router asked for it. */
  readonly sketch?: (() => Uint8Array) | undefined;
}

export interface AdmitLimits {
  /** τ_append: the largest append of a resident session, in tokens. Default 8,192. */
  readonly maxAppendTokens?: number;
  /** ρ: the share of the pool that may be pinned, above 0 to 1. Default 0.95. */
  readonly poolShare?: number;
}

export type AdmitReason = 'real-large-append' | 'no-d-capacity' | 'session-not-resident-no-capacity';

export interface AdmitFigures {
  /** Leading tokens of the prompt that are here. */
  readonly residentTokens: number;
  /** Tokens that the request would pin in addition. */
  readonly requiredTokens: number;
  /** Tokens that may still be pinned; negative when more is pinned than ρ allows. */
  readonly availableTokens: number;
  /** When to ask again, in ms, as far as is known. */
  readonly recommendedPauseMs?: number | undefined;
  /** What the worker holds of the session, a frame for `Router.onSessionSketch`; admitted or not, where it was asked for. */
  readonly sketch?: Uint8Array;
}

export interface AdmittedAnswer extends AdmitFigures {
  readonly admitted: true;
  /** `direct`: goes on where it was. `seed`, `reseed`: its KV comes from elsewhere, for the first time or again. */
  readonly as: Exclude<AdmittedAs, 'fallback'>;
}

export interface RefusedAnswer extends AdmitFigures {
  readonly admitted: false;
  readonly reason: AdmitReason;
}

export type AdmitAnswer = AdmittedAnswer | RefusedAnswer;

/**
 * What a worker answers to a request that it is offered; decides, and reserves nothing. Throws
 * ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE.
 */
export function admit(question: AdmitQuestion, limits?: AdmitLimits): AdmitAnswer {
  const { inputLength, residentBlocks, sessionKnown, firstTurn, pinnedTokens, ...rest } =
    checkQuestion(question);
  const { maxAppendTokens, poolShare } = checkLimits(limits);
  // A share such as 0.57 is a little less in binary; 57 of 100 tokens must not become 56.
  const usableTokens = Math.floor(poolShare * rest.poolTokens * (1 + Number.EPSILON));
  const residentTokens = Math.min(residentBlocks * rest.blockSize, inputLength);
  const requiredTokens = inputLength - rest.pinnedPromptTokens + rest.reservedOutput;
  const availableTokens = usableTokens - pinnedTokens;
  const figures = {
    residentTokens,
    requiredTokens,
    availableTokens,
    ...(rest.sketch && { sketch: rest.sketch() }),
  };

  const resident = sessionKnown && residentTokens > 0;
  if (resident && inputLength - residentTokens > maxAppendTokens)
    return { admitted: false, reason: 'real-large-append', ...figures, recommendedPauseMs: undefined };

  if (requiredTokens > availableTokens) {
    // On an empty worker it would not fit either: no pause helps.
    const hopeless = inputLength + rest.reservedOutput > usableTokens;
    const recommendedPauseMs = hopeless
      ? undefined
      : pauseMs(requiredTokens - availableTokens, rest.freeTokensPerSecond);
    const reason = resident ? 'no-d-capacity' : 'session-not-resident-no-capacity';
    return { admitted: false, reason, ...figures, recommendedPauseMs };
  }
  const as = resident ? 'direct' : firstTurn ? 'seed' : 'reseed';
  return { admitted: true, as, ...figures, recommendedPauseMs: undefined };
}

function pauseMs(missingTokens: number, freeTokensPerSecond: number | undefined): number | undefined {
  if (freeTokensPerSecond === undefined || freeTokensPerSecond === 0) return undefined;
  return Math.ceil((missingTokens / freeTokensPerSecond) * 1000);
}

function checkQuestion(question: AdmitQuestion) {
  if (typeof question !== 'object' || question === null)
    throw invalidArgType('question', 'an object', question);
  const {
    blockSize = 24,
    pinnedPromptTokens = 0,
    reservedOutput = 0,
    freeTokensPerSecond,
    sketch,
    ...given
  } = question;
  if (sketch !== undefined && typeof sketch !== 'function')
    throw invalidArgType('sketch', 'a function', sketch);
  const inputLength = checkInteger('inputLength', given.inputLength, 0, MAX);
  const pinnedTokens = checkInteger('pinnedTokens', given.pinnedTokens, 0, MAX);
  return {
    inputLength,
    pinnedTokens,
    sketch,
    residentBlocks: checkInteger('residentBlocks', given.residentBlocks, 0, MAX),
    blockSize: checkInteger('blockSize', blockSize, 1, MAX),
    sessionKnown: checkBoolean('sessionKnown', given.sessionKnown),
    firstTurn: checkBoolean('firstTurn', given.firstTurn),
    pinnedPromptTokens: checkInteger(
      'pinnedPromptTokens',
      pinnedPromptTokens,
      0,
      Math.min(inputLength, pinnedTokens),
    ),
    reservedOutput: checkInteger('reservedOutput', reservedOutput, 0, MAX),
    poolTokens: checkInteger('poolTokens', given.poolTokens, 1, MAX),
    freeTokensPerSecond:
      freeTokensPerSecond === undefined ? undefined : checkTime('freeTokensPerSecond', freeTokensPerSecond),
  };
}

function checkLimits(limits: AdmitLimits | undefined) {
  const { maxAppendTokens = 8192, poolShare = 0.95 } = checkOptions(limits, 'limits') as AdmitLimits;
  if (typeof poolShare !== 'number') throw invalidArgType('poolShare', 'a number', poolShare);
  if (!(poolShare > 0 && poolShare <= 1)) throw outOfRange('poolShare', 'above 0, up to 1', poolShare);
  return { maxAppendTokens: checkInteger('maxAppendTokens', maxAppendTokens, 0, MAX), poolShare };
}
