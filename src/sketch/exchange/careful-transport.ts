import { KvidxError } from '../../errors.js';
import type { SketchTransport } from '../transport/transport.js';

/** A call without an answer for so long has failed, whatever comes of it later. */
export const ANSWER_WITHIN_MS = 5000;

/**
 * A transport as its owner gave it, taken with care: its calls never throw and answer in time or reject, and what ends a
 * subscription never rejects. To subscribe may take for ever, as long as the store is away.
 */
export type CarefulTransport = Omit<SketchTransport, 'close'>;

export function carefully(transport: SketchTransport): CarefulTransport {
  return {
    publish: (channel, bytes) => inTime('publish', async () => transport.publish(channel, bytes)),
    setLatest: (key, bytes, ttlMs) => inTime('setLatest', async () => transport.setLatest(key, bytes, ttlMs)),
    getLatest: (key) => inTime('getLatest', async () => transport.getLatest(key)),
    subscribe: async (channel, onMessage, watch) => {
      const leave = await transport.subscribe(channel, onMessage, watch);
      return () => inTime('ending a subscription', async () => leave()).catch(() => {});
    },
  };
}

async function inTime<T>(what: string, call: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const problem = `${what}: the transport has not answered within ${ANSWER_WITHIN_MS} ms`;
      reject(new KvidxError('ERR_KVIDX_TRANSPORT', problem));
    }, ANSWER_WITHIN_MS).unref();
  });
  try {
    return await Promise.race([call(), late]);
  } finally {
    clearTimeout(timer);
  }
}
