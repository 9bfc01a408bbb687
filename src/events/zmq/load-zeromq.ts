import { KvidxError } from '../../errors.js';

export type ZeroMq = typeof import('zeromq');

/** ERR_KVIDX_TRANSPORT: the package `zeromq` is not installed, or has no binary for this machine. */
export async function loadZeroMq(): Promise<ZeroMq> {
  try {
    return await import('zeromq');
  } catch (cause) {
    const message = 'ZmqSubscriber uses the package zeromq, which does not load: npm install zeromq';
    throw new KvidxError('ERR_KVIDX_TRANSPORT', message, { cause });
  }
}
