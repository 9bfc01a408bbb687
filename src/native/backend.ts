import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KvidxError } from '../errors.js';
import type { Seam } from './seam.js';

/** Which backend answers, and why. */
export interface BackendInfo {
  readonly name: 'native' | 'wasm';
  /** Instruction set in use: `scalar`, `avx2`, `avx512`, or `wasm`. */
  readonly isa: string;
  /** File of the addon; undefined on the reference backend. */
  readonly path: string | undefined;
  /** Why this backend was chosen, for people. */
  readonly reason: string;
}
