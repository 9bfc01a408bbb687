import { types } from 'node:util';
import { invalidArgType, outOfRange } from '../errors.js';
import type { FlatExtraKeys } from '../native/seam.js';
import { counted } from '../text.js';
import { checkHash } from '../validate.js';

/**
 * Extra keys by block index: hashes of multimodal items and whatever else tells apart blocks with equal tokens. Their
 * order does not matter.
 */
export type ExtraKeys = ReadonlyMap<number, readonly (bigint | number)[]>;

/**
 * Extra keys in the form of the seam, for a call that hashes the `count` blocks from `first` on; block numbers become
 * relative to `first`. A block that the call does not hash (beyond the end, a partial last one, one hashed before) is
 * ERR_KVIDX_OUT_OF_RANGE: its keys would be lost. Errors call the keys `what`.
 */
export function flattenExtraKeys(
  extraKeys: ExtraKeys | undefined,
  first: number,
  count: number,
  what = 'extraKeys',
): FlatExtraKeys | undefined {
  if (extraKeys === undefined) return undefined;
  if (!types.isMap(extraKeys)) throw invalidArgType(what, 'a Map', extraKeys);
  const flat: { block: number; key: bigint }[] = [];
  for (const [block, keys] of extraKeys as ExtraKeys) {
    if (!Number.isInteger(block) || block < first || block >= first + count) {
      const hashed = `one of the ${counted(count, 'full block')} that this call hashes, from ${first} on`;
      throw outOfRange(`a block index of ${what}`, hashed, block);
    }
    if (!Array.isArray(keys)) throw invalidArgType(`${what} of block ${block}`, 'an array of bigints', keys);
    keys.forEach((key: unknown, i) => {
      flat.push({ block: block - first, key: checkHash(key, `${what} of block ${block}[${i}]`) });
    });
  }
  if (flat.length === 0) return undefined;
  flat.sort((a, b) => a.block - b.block || (a.key < b.key ? -1 : Number(a.key > b.key)));
  return {
    blocks: Uint32Array.from(flat, ({ block }) => block),
    keys: BigUint64Array.from(flat, ({ key }) => key),
  };
}
