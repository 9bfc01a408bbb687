import { invalidArgType } from '../errors.js';
import { seam } from '../native/index.js';
import { checkHash } from '../validate.js';

const DIGEST = /^[0-9a-f]{64}$/i;

/**
 * The extra key that `EventFeed` makes of a multimodal item's identifier, for `extraKeys` of a query: of 64 hex digits the
 * first 16 as u64 (as Dynamo does), of any other text the XXH64 of its UTF-8 bytes with seed 0; an integer as it is, −2^63 …
 * 2^64 − 1. Every block that the item covers has the key. Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE.
 */
export function multimodalKey(identifier: string | bigint | number): bigint {
  if (typeof identifier === 'bigint' || typeof identifier === 'number')
    return checkHash(identifier, 'identifier');
  if (typeof identifier !== 'string')
    throw invalidArgType('identifier', 'a string or an integer', identifier);
  if (DIGEST.test(identifier)) return BigInt(`0x${identifier.slice(0, 16)}`);
  return seam.xxh64(new TextEncoder().encode(identifier), 0n);
}
