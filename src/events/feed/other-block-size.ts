import { KvidxError } from '../../errors.js';
import { counted } from '../../text.js';
import type { AppliedEvents } from './types.js';

/** An engine whose blocks no query of this index can hit. What else its message said was applied. */
export class OtherBlockSize extends KvidxError {
  /** Tokens a block that the engine stores. */
  readonly blockSize: number;
  readonly applied: AppliedEvents;

  /** @internal `own`: that of the index. */
  constructor(blockSize: number, own: number, applied: AppliedEvents) {
    const what = `the engine stores blocks of ${counted(blockSize, 'token')}, this index has blocks of ${own}`;
    super('ERR_KVIDX_BLOCK_SIZE', `${what}: give both the same block size; other events are applied`);
    this.blockSize = blockSize;
    this.applied = applied;
  }
}
