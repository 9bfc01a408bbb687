import { invalidArgType, KvidxError } from '../errors.js';
import type { Policy } from '../routing/policy/policy.js';
import { createPolicy } from '../routing/policy/spec.js';
import { grouped } from '../text.js';
import { checkInteger, checkOptions } from '../validate.js';
import { MAX_SIM_BLOCK_SIZE, MAX_SIM_WORKERS } from './limits.js';
import type { SimOptions } from './types.js';

export interface SimSettings {
  readonly trace: string;
  readonly workers: number;
  /** One for each fleet: a policy may count ties. */
  readonly policies: readonly { readonly given: string; readonly policy: Policy }[];
  readonly blockSize: number | undefined;
  readonly onDecision: NonNullable<SimOptions['onDecision']>;
}

/** Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE, and what `createPolicy` throws. */
export function checkSimOptions(options: SimOptions): SimSettings {
  const { trace = 'trace', workers, policies, blockSize, onDecision = () => {} } = checkOptions(options);
  if (typeof trace !== 'string') throw invalidArgType('trace', 'a string', trace);
  if (typeof onDecision !== 'function') throw invalidArgType('onDecision', 'a function', onDecision);
  if (!Array.isArray(policies)) throw invalidArgType('policies', 'an array of policy specs', policies);
  checkInteger('policies.length', policies.length, 1, Number.MAX_SAFE_INTEGER);
  return {
    trace,
    workers: checkInteger('workers', workers, 1, MAX_SIM_WORKERS),
    policies: policies.map((given: unknown, i) => {
      if (typeof given !== 'string') throw invalidArgType(`policies[${i}]`, 'a policy spec', given);
      return { given, policy: createPolicy(given) };
    }),
    blockSize:
      blockSize === undefined ? undefined : checkInteger('blockSize', blockSize, 1, MAX_SIM_BLOCK_SIZE),
    onDecision,
  };
}

/** An inferred block size may be one that no router takes. */
export function checkRoutable(trace: string, blockSize: number): void {
  if (blockSize <= MAX_SIM_BLOCK_SIZE) return;
  throw new KvidxError(
    'ERR_KVIDX_BAD_TRACE',
    `${trace}: its blocks have ${grouped(blockSize)} tokens, and a router takes at most ${grouped(MAX_SIM_BLOCK_SIZE)}`,
  );
}
