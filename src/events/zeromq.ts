import { KvidxError } from '../errors.js';

export type ZeroMq = typeof import('zeromq');

/** `user`: who needs it. ERR_KVIDX_TRANSPORT: the package `zeromq` is not installed, or has no binary for this machine. */
export async function loadZeroMq(user: string): Promise<ZeroMq> {
  try {
    return await import('zeromq');
  } catch (cause) {
    const message = `${user} uses the package zeromq, which does not load: npm install zeromq`;
    throw new KvidxError('ERR_KVIDX_TRANSPORT', message, { cause });
  }
}

/**
 * Closes a socket that is bound; resolves when its port is free again, which is later, as the last event tells. Never
 * unbinds: libzmq 4.3.5 aborts the process when it does so while the other side of a connection goes away (pipe.cpp,
 * process_pipe_term_ack).
 */
export function closeBound(socket: InstanceType<ZeroMq['Publisher'] | ZeroMq['Router']>): Promise<void> {
  return new Promise((resolve) => {
    socket.events.on('end', () => resolve());
    socket.close();
  });
}
