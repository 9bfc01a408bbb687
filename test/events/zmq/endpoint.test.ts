import { expect, it } from 'vitest';
import { endpointOfRank } from '../../../src/events/zmq/endpoint.js';
import { checkFollowOptions } from '../../../src/events/zmq/options.js';

it.each([
  ['tcp://10.0.0.1:5557', 0, 'tcp://10.0.0.1:5557'],
  ['tcp://10.0.0.1:5557', 3, 'tcp://10.0.0.1:5560'],
  ['tcp://[::1]:5557', 1, 'tcp://[::1]:5558'],
  ['inproc://kv', 0, 'inproc://kv'],
  ['inproc://kv', 2, 'inproc://kv_dp2'],
  ['ipc:///run/kv', 1, 'ipc:///run/kv_dp1'],
])('%s of rank %i is %s', (endpoint, rank, expected) => {
  expect(endpointOfRank('endpoint', endpoint, rank)).toBe(expected);
});

it.each([
  'tcp://host',
  'tcp://:5557',
  'tcp://host:0',
  'tcp://host:65536',
  'host:5557',
  'ipc://',
  'tcp://*:5557',
  'tcp://0.0.0.0:5557',
  'tcp://[::]:5557',
  'tcp:// :5557',
  'tcp://my host:5557',
  'tcp://:::5557',
  'ipc://*',
  '',
])('%s is nowhere to connect to', (endpoint) => {
  expect(() => endpointOfRank('endpoint', endpoint, 0)).toThrow(
    expect.objectContaining({ code: 'ERR_KVIDX_OUT_OF_RANGE' }),
  );
});

it('may be a wildcard to listen at', () => {
  for (const host of ['*', '0.0.0.0', '[::]', '::']) {
    expect(endpointOfRank('endpoint', `tcp://${host}:5557`, 1, true)).toBe(`tcp://${host}:5558`);
  }
  expect(endpointOfRank('endpoint', 'ipc://*', 0, true)).toBe('ipc://*');
});

it('says that it is no wildcard', () => {
  const told = (endpoint: string) => () => endpointOfRank('endpoint', endpoint, 0);
  expect(told('tcp://[::]:5557')).toThrow(/with the host to connect to in place of \[::\]/);
  expect(told('ipc://*')).toThrow(/with the path to connect to in place of \*/);
});

it.each([
  [1, 5557, 5557],
  [2, 5557, 5558],
  [8, 5557, 5564],
  [8, 5564, 5557],
])(
  '%i ranks that publish from port %i on and replay from %i on would meet: refused',
  (ranks, port, replayPort) => {
    const at = (first: number) => `tcp://127.0.0.1:${first}`;
    const options = (first: number) => ({ endpoint: at(port), replayEndpoint: at(first), ranks });
    expect(() => checkFollowOptions('w', options(replayPort))).toThrow(
      expect.objectContaining({ code: 'ERR_KVIDX_OUT_OF_RANGE' }),
    );
    expect(checkFollowOptions('w', options(port + ranks))).toHaveLength(ranks);
  },
);
