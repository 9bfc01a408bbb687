import { afterEach, describe, expect, it, vi } from 'vitest';
import { readOptions } from '../../../examples/openai-router/router/options.js';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const URL = 'http://10.0.0.7:8000';

/** What is told of a wrong command line, which ends the process with 1. */
function complaint(...argv: string[]): string {
  let said = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += text;
    return true;
  });
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => {
    throw new Error('exit');
  });
  expect(() => readOptions(argv)).toThrow('exit');
  expect(exit).toHaveBeenCalledWith(1);
  return said;
}

describe('the command line', () => {
  it('needs only the address of a worker', () => {
    expect(readOptions(['--worker', URL])).toEqual({
      worker: [{ name: 'w0', url: URL }],
      host: '127.0.0.1',
      port: 8080,
      blockSize: 24,
      maxBodyMb: 8,
      maxAttempts: 3,
      firstByteMs: expect.any(Number),
      answerMs: expect.any(Number),
      idleMs: expect.any(Number),
      healthEveryMs: 1000,
      drainMs: 10_000,
      logLevel: 'warn',
    });
  });

  it('names workers in turn unless told otherwise, and says where they tell what they cache', () => {
    const { worker } = readOptions([
      '--worker',
      `${URL}/`,
      '--worker',
      `${URL},name=a=b,events=tcp://h:1,replay=tcp://h:2`,
      '--worker',
      'https://engine.example',
      '--worker',
      'http://[::1]:8000,events=tcp://[::1]:1',
    ]);
    expect(worker).toEqual([
      { name: 'w0', url: URL },
      { name: 'a=b', url: URL, events: 'tcp://h:1', replay: 'tcp://h:2' },
      { name: 'w2', url: 'https://engine.example' },
      { name: 'w3', url: 'http://[::1]:8000', events: 'tcp://[::1]:1' },
    ]);
  });

  it('takes an overlap as a policy without a floor', () => {
    expect(readOptions(['--worker', URL, '--overlap', 'set']).policy).toBe('kv-aware:overlap=set');
    expect(readOptions(['--worker', URL, '--policy', 'lpwl']).policy).toBe('lpwl');
    expect(readOptions(['--worker', URL, '--overlap', 'set'])).not.toHaveProperty('overlap');
  });

  it('takes the API key of the workers from the environment, where nobody else sees it', () => {
    expect(readOptions(['--worker', URL])).not.toHaveProperty('workerKey');
    vi.stubEnv('KVIDX_WORKER_KEY', '');
    expect(readOptions(['--worker', URL])).not.toHaveProperty('workerKey');
    vi.stubEnv('KVIDX_WORKER_KEY', 'sk-1');
    expect(readOptions(['--worker', URL])).toMatchObject({ workerKey: 'sk-1' });
    vi.stubEnv('KVIDX_WORKER_KEY', 'sk\n1');
    expect(complaint('--worker', URL)).toContain('KVIDX_WORKER_KEY does not fit into an HTTP header');
  });

  it.each([
    ['no worker', [], '--worker'],
    ['no address', ['--worker', 'name=w0'], 'http://host:port'],
    ['another protocol', ['--worker', 'ftp://h:1'], 'http://host:port'],
    ['a path', ['--worker', `${URL}/v1`], 'http://host:port'],
    ['a query', ['--worker', `${URL}?x=1`], 'http://host:port'],
    ['a password', ['--worker', 'http://u:p@h:1'], 'http://host:port'],
    ['an unknown part', ['--worker', `${URL},nmae=a`], '"nmae=a"'],
    ['an empty part', ['--worker', `${URL},name=`], '"name="'],
    ['a part twice', ['--worker', `${URL},name=a,name=b`], '"name=b"'],
    ['a name that no header holds', ['--worker', `${URL},name=w ☃`], 'HTTP header'],
    ['a name twice', ['--worker', URL, '--worker', `${URL},name=w0`], 'Two workers are named w0'],
    ['a replay of nothing', ['--worker', `${URL},replay=tcp://h:2`], 'replay= goes with events='],
    ['two policies', ['--worker', URL, '--policy', 'lpwl', '--overlap', 'set'], 'cannot be used with'],
    ['an unknown overlap', ['--worker', URL, '--overlap', 'most'], 'Allowed choices'],
    ['no number', ['--worker', URL, '--port', '80a'], 'an integer from 0 to 65535'],
    ['a number out of range', ['--worker', URL, '--block-size', '0'], 'an integer from 1 to 4096'],
    ['a word too many', ['--worker', URL, 'http://h:2'], 'too many arguments'],
  ])('is refused with a reason: %s', (_, argv, reason) => {
    expect(complaint(...argv)).toContain(reason);
  });
});
