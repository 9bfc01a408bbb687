import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { findAddon, loadBackend } from '../../src/native/load.js';

const built = 'addon' in findAddon('kvidx');

test('the reference backend can be asked for', async () => {
  const { seam, info } = await loadBackend('wasm');
  expect(seam.name).toBe('wasm');
  expect(info).toEqual({ name: 'wasm', isa: 'wasm', path: undefined, reason: 'KVIDX_BACKEND=wasm' });
});

test.runIf(built)('the addon is the first choice', async () => {
  for (const choice of [undefined, '', 'native']) {
    const { seam, info } = await loadBackend(choice);
    expect(seam.name).toBe('native');
    expect(info).toMatchObject({
      name: 'native',
      isa: seam.isa,
      path: expect.stringMatching(/kvidx\.node$/),
    });
  }
});

test.runIf(!built)(
  'without an addon the reference backend steps in, and forcing the addon fails',
  async () => {
    const { info } = await loadBackend(undefined);
    expect(info.name).toBe('wasm');
    expect(info.reason).toMatch(/build.Release.kvidx\.node/);
    await expect(loadBackend('native')).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_KVIDX_NATIVE_LOAD', message: expect.stringMatching(/prebuilds/) }),
    );
  },
);

test('another choice is refused, naming the valid ones', async () => {
  await expect(loadBackend('Native')).rejects.toThrow(
    expect.objectContaining({
      code: 'ERR_KVIDX_NATIVE_LOAD',
      message: expect.stringMatching(/"native", "wasm" or unset, got "Native"/),
    }),
  );
});

test('an instruction set that is none is refused, naming the valid ones', async () => {
  await expect(loadBackend(undefined, 'sse9')).rejects.toThrow(
    expect.objectContaining({
      code: 'ERR_KVIDX_NATIVE_LOAD',
      message: expect.stringMatching(/KVIDX_ISA must be "scalar", "avx2", "avx512" or unset, got "sse9"/),
    }),
  );
});

test.runIf(built)('KVIDX_ISA bounds what the addon uses', () => {
  const script = `
    const { isa, bloomPaths, hashPaths } = require(process.argv[1]);
    console.log([isa, ...[bloomPaths, hashPaths].map((paths) => paths.map((path) => path.isa).join())].join(' '));`;
  const search = findAddon('kvidx');
  if (!('addon' in search)) throw new Error('no addon');
  const say = (isa: string) => {
    const env = { ...process.env, KVIDX_ISA: isa };
    return execFileSync(process.execPath, ['-e', script, search.path], { env, encoding: 'utf8' }).trim();
  };
  expect(say('scalar')).toBe('scalar scalar scalar');
  expect(say('avx2')).toMatch(/^(avx2 scalar,avx2|scalar scalar) scalar$/);
  expect(say('avx512')).toBe(say(''));
});

test('a search that finds nothing lists every path', () => {
  const search = findAddon('no-such-addon');
  if ('addon' in search) throw new Error('found');
  expect(search.refused.join('\n')).toMatch(/prebuilds.*no-such-addon\.node: no such file/);
  expect(search.refused.join('\n')).toMatch(/build.Release.no-such-addon\.node: no such file/);
});
