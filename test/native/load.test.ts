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

test('a search that finds nothing lists every path', () => {
  const search = findAddon('no-such-addon');
  if ('addon' in search) throw new Error('found');
  expect(search.refused.join('\n')).toMatch(/prebuilds.*no-such-addon\.node: no such file/);
  expect(search.refused.join('\n')).toMatch(/build.Release.no-such-addon\.node: no such file/);
});
