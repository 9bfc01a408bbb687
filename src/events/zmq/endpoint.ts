import { invalidArgType, outOfRange } from '../../errors.js';

const FORM = 'tcp://host:port, ipc://path or inproc://name';
const MAX_PORT = 0xffff;
/** All addresses of a machine. */
const WILDCARDS = ['*', '0.0.0.0', '::', '[::]'];

/**
 * Where a rank publishes or replays, told where rank 0 does: tcp ports count up, other names get `_dp1`, `_dp2`, … (vLLM's
 * and TensorRT-LLM's `offset_endpoint_port`). Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE: it has another
 * form, its port would be above 65,535, or nobody can connect to it (`isBound`: it is to listen at): a wildcard, a host with a space.
 */
export function endpointOfRank(what: string, endpoint: unknown, rank: number, isBound = false): string {
  if (typeof endpoint !== 'string') throw invalidArgType(what, 'a string', endpoint);
  if (endpoint === 'ipc://*' && !isBound)
    throw outOfRange(what, 'an address with the path to connect to in place of *', endpoint);
  if (/^(ipc|inproc):\/\/./s.test(endpoint)) return rank === 0 ? endpoint : `${endpoint}_dp${rank}`;
  const [, host, digits] = /^tcp:\/\/(.+):(\d{1,5})$/.exec(endpoint) ?? [];
  if (host === undefined) throw outOfRange(what, FORM, endpoint);
  if (!isBound && (WILDCARDS.includes(host) || /\s/.test(host))) {
    throw outOfRange(
      what,
      `an address with the host to connect to in place of ${host.trim() || 'a space'}`,
      endpoint,
    );
  }
  const withPort = `an address with a port from 1 to ${MAX_PORT}`;
  const first = Number(digits);
  if (first === 0 || first > MAX_PORT) throw outOfRange(what, withPort, endpoint);
  const port = first + rank;
  if (port > MAX_PORT) throw outOfRange(`${what} of rank ${rank}`, withPort, `tcp://${host}:${port}`);
  return `tcp://${host}:${port}`;
}
