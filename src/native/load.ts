import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KvidxError } from '../errors.js';
import { SEAM_VERSION, type Seam } from './seam.js';

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

export interface LoadedBackend {
  readonly seam: Seam;
  readonly info: BackendInfo;
}

/** What the addon exports beside the seam. */
interface Addon extends Seam {
  readonly seamVersion: number;
}

/** The addon, or the paths tried with the reason why each was refused. */
type AddonSearch = { readonly addon: Addon; readonly path: string } | { readonly refused: readonly string[] };

const require = createRequire(import.meta.url);

/** The folder of kvidx's package.json; this file is below it both as source and compiled. */
export function packageRoot(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'package.json'))) directory = dirname(directory);
  return directory;
}

const ISAS = ['scalar', 'avx2', 'avx512'];

/**
 * Chooses the backend: the addon when one loads, else the reference backend. `choice` is the value of `KVIDX_BACKEND`:
 * `native` (ERR_KVIDX_NATIVE_LOAD when no addon loads), `wasm`, or absent. `isa` is that of `KVIDX_ISA`, which is
 * only checked here: the addon reads it itself, once for the process and from the process's environment. What a worker thread has
 * in an `env` of its own changes nothing.
 */
export async function loadBackend(
  choice: string | undefined,
  isa?: string | undefined,
): Promise<LoadedBackend> {
  if (isa && !ISAS.includes(isa)) {
    throw new KvidxError(
      'ERR_KVIDX_NATIVE_LOAD',
      `KVIDX_ISA must be "scalar", "avx2", "avx512" or unset, got ${JSON.stringify(isa)}`,
    );
  }
  switch (choice || undefined) {
    case 'wasm':
      return loadReference('KVIDX_BACKEND=wasm');
    case 'native':
    case undefined: {
      const search = findAddon('kvidx');
      if ('addon' in search) return native(search.addon, search.path);
      if (choice === 'native') {
        throw new KvidxError(
          'ERR_KVIDX_NATIVE_LOAD',
          `KVIDX_BACKEND=native, but no addon loads. Build one with "npm rebuild kvidx" (in a checkout: "npm run ` +
            `build:native"), or unset KVIDX_BACKEND. Tried:\n${search.refused.join('\n')}`,
        );
      }
      return loadReference(`no addon loads; tried:\n${search.refused.join('\n')}`);
    }
    default:
      throw new KvidxError(
        'ERR_KVIDX_NATIVE_LOAD',
        `KVIDX_BACKEND must be "native", "wasm" or unset, got ${JSON.stringify(choice)}`,
      );
  }
}

function native(addon: Addon, path: string): LoadedBackend {
  return { seam: addon, info: { name: 'native', isa: addon.isa, path, reason: 'the addon loads' } };
}

async function loadReference(reason: string): Promise<LoadedBackend> {
  const { createReferenceSeam } = await import('../reference/index.js');
  const seam = await createReferenceSeam();
  return { seam, info: { name: 'wasm', isa: seam.isa, path: undefined, reason } };
}

/**
 * Looks for `<name>.node` among the prebuilt binaries, then where a local build puts it. A binary of another seam
 * version (left over from an older build) is refused like one that does not load.
 */
export function findAddon(name: string): AddonSearch {
  const root = packageRoot();
  const prebuilt = join(root, 'prebuilds', `${process.platform}-${process.arch}`, `${name}.node`);
  const refused: string[] = [];
  for (const locate of [() => prebuilt, () => builtPath(name, root)]) {
    try {
      const path = locate();
      const addon = require(path) as Addon;
      if (addon.seamVersion === SEAM_VERSION) return { addon, path };
      refused.push(`${path}: seam version ${addon.seamVersion}, this package needs ${SEAM_VERSION}`);
    } catch (error) {
      refused.push(...refusals(error, prebuilt));
    }
  }
  return { refused };
}

function builtPath(name: string, root: string): string {
  const bindings = require('bindings') as (options: object) => string;
  const places = ['Release', 'Debug'].map((config) => ['module_root', 'build', config, 'bindings']);
  return bindings({ bindings: name, module_root: root, path: true, try: places });
}

/** `bindings` lists the paths it tried in `tries`. */
function refusals(error: unknown, prebuilt: string): string[] {
  const { tries, code, message } = error as Error & { tries?: string[]; code?: string };
  if (tries) return tries.map((path) => `${path}: no such file`);
  if (code === 'MODULE_NOT_FOUND') return [`${prebuilt}: no such file`];
  return [message];
}
