import { findAddon } from '../../src/native/load.js';
import type { HashSeam } from '../../src/native/seam.js';
import { createReferenceHasher } from '../../src/reference/hash.js';

const search = findAddon('kvidx');
if (!('addon' in search)) {
  console.warn('The native hasher is not tested: no addon is built (npm run build:native).');
}

export const native: HashSeam | undefined = 'addon' in search ? search.addon : undefined;
export const reference: HashSeam = await createReferenceHasher();

/** Every backend that is here, by name. */
export const backends: [string, HashSeam][] = native
  ? [
      ['native', native],
      ['reference', reference],
    ]
  : [['reference', reference]];
