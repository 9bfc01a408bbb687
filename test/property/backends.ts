import { findAddon } from '../../src/native/load.js';
import type { Seam } from '../../src/native/seam.js';
import { createReferenceSeam } from '../../src/reference/index.js';

/** The twin that every backend must equal. */
export const reference: Seam = await createReferenceSeam();

const search = findAddon('kvidx');
if (!('addon' in search)) {
  console.warn(`No addon, so the reference backend meets itself. Tried:\n${search.refused.join('\n')}`);
}

/** The backend under test: the addon, where one is built. */
export const tested: Seam = 'addon' in search ? search.addon : reference;
