import { CommanderError } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CliError } from '../../src/cli/cli-error.js';
import { report } from '../../src/cli/report.js';
import { KvidxError } from '../../src/errors.js';

describe('report', () => {
  let said = '';
  beforeEach(() => {
    said = '';
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      said += text;
      return true;
    });
  });
  afterEach(() => vi.restoreAllMocks());

  it.each([
    ['of the command line', new CliError('what failed')],
    ['of the library', new KvidxError('ERR_KVIDX_BAD_TRACE', 'what failed')],
    ['of the addon', Object.assign(new Error('what failed'), { code: 'ERR_KVIDX_OUT_OF_MEMORY' })],
  ])('says an error %s in one line', (_, error) => {
    expect(report(error)).toBe(1);
    expect(said).toBe('kvidx: what failed\n');
  });

  it('shows the stack of any other error', () => {
    expect(report(new TypeError('a bug'))).toBe(1);
    expect(said).toMatch(/^kvidx: TypeError: a bug\n {4}at /);
  });

  it('leaves to commander what it has said already', () => {
    expect(report(new CommanderError(1, 'commander.unknownOption', 'unknown'))).toBe(2);
    expect(report(new CommanderError(0, 'commander.helpDisplayed', 'help'))).toBe(0);
    expect(said).toBe('');
  });
});
