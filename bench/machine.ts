import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_BLOCK_SIZE } from '../src/hash/limits.js';
import { packageRoot } from '../src/native/load.js';
import { nativeSeam } from './backends.js';
import type { Machine } from './report.js';

/** Throws ERR_KVIDX_NATIVE_LOAD where no addon was built. */
export function thisMachine(): Machine {
  return {
    kvidx: JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')).version,
    node: process.versions.node,
    cpu: cpus()[0]?.model.trim() ?? 'unknown processor',
    cores: availableParallelism(),
    backend: 'native',
    isa: nativeSeam().isa,
    blockSize: DEFAULT_BLOCK_SIZE,
  };
}
