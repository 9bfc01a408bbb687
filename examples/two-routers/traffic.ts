import { BlockHasher } from 'kvidx';

export interface Conversation {
  readonly session: string;
  readonly turn: number;
}

export const BLOCK_SIZE = 24;
const hasher = new BlockHasher({ blockSize: BLOCK_SIZE });
/** System prompt and tool schemas, which all sessions share. */
const BOILERPLATE = tokens('boilerplate', 200 * BLOCK_SIZE);

/** Seq hashes of a session's prompt, which grows by 60 blocks a turn. */
export function promptOf({ session, turn }: Conversation): BigUint64Array {
  const own = tokens(session, (100 + 60 * turn) * BLOCK_SIZE);
  return hasher.seqHashes(Uint32Array.from([...BOILERPLATE, ...own]));
}

/** The first `length` of the token ids that belong to a name. */
function tokens(name: string, length: number): Uint32Array {
  let state = Number(
    hasher.seqHashes(Uint32Array.from(Buffer.from(name.padEnd(BLOCK_SIZE))))[0]! & 0xffff_ffffn,
  );
  return Uint32Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 12;
  });
}
