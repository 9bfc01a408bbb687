import { type CoreIndex, RESULT_LENGTH } from '../src/native/seam.js';
import type { Prompts, StoreCall } from './prompts.js';

/**
 * After each stored piece the session owns its prompt so far, as a router would have it. Answers the number of each
 * session.
 */
export function ownAll(index: CoreIndex, prompts: Prompts, calls: readonly StoreCall[]): Uint32Array {
  const result = new Float64Array(RESULT_LENGTH);
  const numbers = new Uint32Array(prompts.sessions.length);
  for (const { session, to } of calls) {
    const seq = prompts.sessions[session]!.subarray(0, to);
    numbers[session] = index.own(numbers[session]!, seq, 0, result);
  }
  return numbers;
}
