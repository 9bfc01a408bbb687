import { types } from 'node:util';
import type { ExtraKeys } from '../../hash/extra-keys.js';
import { multimodalKey } from '../../hash/multimodal-key.js';
import { seam } from '../../native/index.js';
import { EventProblem } from '../fields.js';
import type { StoredEvent } from '../types.js';

/** What of a store's extra keys is the salt of its prompt, and what are extra keys of blocks. */
export interface BlockExtras {
  readonly salt: string | undefined;
  readonly extraKeys: ExtraKeys | undefined;
}

/**
 * vLLM sends for each block, in this order (kv_cache_utils.py, generate_block_hash_extra_keys): the LoRA's name; of
 * multimodal items `[identifier, offset]`, or the mere identifier in versions before; for the first block of a prompt the
 * salt; digests of prompt embeddings. Only the order tells a salt from a mere identifier, so that in a first block the last
 * text is taken for the salt, unless another block of the event has it as well. Offsets are left out: where an item lies, the tokens tell.
 */
export function blockExtras({ extraKeys, loraName, parentHash, cacheSalt }: StoredEvent): BlockExtras {
  if (extraKeys === undefined) return { salt: cacheSalt, extraKeys: undefined };
  let salt = cacheSalt;
  const keys = new Map<number, bigint[]>();
  extraKeys.forEach((sent, block) => {
    if (sent === undefined) return;
    const left = sent[0] === loraName ? sent.slice(1) : sent.slice();
    if (block === 0 && parentHash === undefined) {
      const at = left.findLastIndex((value) => typeof value === 'string' && !isElsewhere(value, extraKeys));
      if (at >= 0) salt ??= left.splice(at, 1)[0] as string;
    }
    if (left.length > 0)
      keys.set(
        block,
        left.map((value, i) => keyOf(value, `extra_keys[${block}], item ${i}`)),
      );
  });
  return { salt: salt === '' ? undefined : salt, extraKeys: keys.size === 0 ? undefined : keys };
}

/** An item covers many blocks, a salt is told once. */
function isElsewhere(value: unknown, extraKeys: NonNullable<StoredEvent['extraKeys']>): boolean {
  return extraKeys.some((keys, block) => block > 0 && keys?.includes(value));
}

function keyOf(value: unknown, what: string): bigint {
  if (Array.isArray(value) && value[0] === 'token_extra_id') return textKey(value.join(':'));
  const identifier = Array.isArray(value) ? value[0] : value;
  if (types.isUint8Array(identifier) && identifier.byteLength >= 8) {
    return new DataView(identifier.buffer, identifier.byteOffset).getBigUint64(0);
  }
  const isNumber = typeof identifier === 'bigint' || Number.isSafeInteger(identifier);
  if (typeof identifier !== 'string' && !isNumber) throw new EventProblem(`${what} is no key that is known`);
  return multimodalKey(identifier as string | number | bigint);
}

function textKey(text: string): bigint {
  return seam.xxh64(new TextEncoder().encode(text), 0n);
}
