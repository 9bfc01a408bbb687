import { KvidxError } from '../../errors.js';

/** ERR_KVIDX_TRANSPORT, with the endpoint in front. */
export function transportFailure(endpoint: string, cause: Error): KvidxError {
  return new KvidxError('ERR_KVIDX_TRANSPORT', `${endpoint}: ${cause.message}`, { cause });
}
