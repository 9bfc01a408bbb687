import { RESULT } from '../native/seam.js';
import { enforceBounds, isBounded, type Newcomers } from './bounds.js';
import type { IndexState, Session } from './index-state.js';
import { disown, take } from './membership.js';
import { refuses, tellPredecessors } from './predecessors.js';
import { stampCall } from './stamps.js';

/** Answers the session's number, 0 when it owns nothing. */
export function own(
  state: IndexState,
  session: number,
  hashes: readonly bigint[],
  nowMs: number,
  result: Float64Array,
): number {
  const { sessions, sessionNumbers } = state;
  const present = sessions.get(session);
  if (hashes.length === 0 || refuses(state, hashes, undefined, result)) return present ? session : 0;
  const number = present ? session : sessionNumbers.take();
  const owner: Session = present ?? { lastOwnMs: nowMs, blocks: new Set() };
  owner.lastOwnMs = nowMs;
  sessions.delete(number);
  sessions.set(number, owner);
  tellPredecessors(state, hashes, undefined);
  const newcomers: Newcomers | undefined = isBounded(state) ? new Map() : undefined;
  let applied = 0;
  for (const [i, hash] of hashes.entries()) {
    if (!take(state, owner, hash)) continue;
    applied++;
    newcomers?.set(hash, i);
  }
  result[RESULT.applied] = applied;
  result[RESULT.duplicate] = hashes.length - applied;
  stampCall(state, hashes, undefined, nowMs);
  result[RESULT.ended] = endBeyondBound(state);
  if (newcomers) enforceBounds(state, { slot: -1, newcomers, result });
  return number;
}

/** Answers the session that had to end, 0: none. */
function endBeyondBound(state: IndexState): number {
  const { sessions, options } = state;
  if (options.maxSessions === 0 || sessions.size <= options.maxSessions) return 0;
  const oldest: number = sessions.keys().next().value!;
  endSession(state, oldest);
  return oldest;
}

/** Answers how many blocks were owned. */
export function endSession(state: IndexState, session: number): number {
  const owner = state.sessions.get(session);
  if (!owner) return 0;
  const owned = owner.blocks.size;
  for (const hash of owner.blocks) disown(state, owner, hash);
  state.sessions.delete(session);
  state.sessionNumbers.giveBack(session);
  return owned;
}

/** Answers the numbers of those that ended, ascending. */
export function endIdleSessions(state: IndexState, cutoffMs: number): Uint32Array {
  const idle: number[] = [];
  for (const [number, { lastOwnMs }] of state.sessions) if (lastOwnMs <= cutoffMs) idle.push(number);
  for (const number of idle) endSession(state, number);
  return Uint32Array.from(idle).sort();
}
