/** The backend in use; chosen once, when the package is first imported. */
import { type BackendInfo, loadBackend } from './load.js';
import type { Seam } from './seam.js';

const loaded = await loadBackend(process.env.KVIDX_BACKEND, process.env.KVIDX_ISA);

export const seam: Seam = loaded.seam;

/** Which backend answers, and why: `{name: 'native' | 'wasm', isa, path, reason}`. */
export function backend(): BackendInfo {
  return loaded.info;
}

export type { BackendInfo } from './load.js';
