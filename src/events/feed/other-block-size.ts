import { KvidxError } from '../../errors.js';
import { counted } from '../../text.js';

/** An engine whose blocks no query of this index can hit. */
export class OtherBlockSize extends KvidxError {
  readonly blockSize: number;

  /** `own`: that of the index. */
  constructor(blockSize: number, own: number) {
    const what = `the engine stores blocks of ${counted(blockSize, 'token')}, this index has blocks of ${own}`;
    super(
      'ERR_KVIDX_BLOCK_SIZE',
      `${what}: give both the same block size; nothing of the message was applied`,
    );
    this.blockSize = blockSize;
  }
}
