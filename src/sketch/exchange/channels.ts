import { outOfRange } from '../../errors.js';
import { checkName } from '../../validate.js';
import { encodeName } from '../frame.js';

/** Of channels and keys. */
export const DEFAULT_PREFIX = 'kvidx-sketch:';

const WISHES = ':want';

/** How the sketches of one worker travel. */
export interface WorkerChannels {
  /** Frames are published on it; the latest full or clear one stays under the key of this name. */
  readonly frames: string;
  /** Whoever wants a full frame publishes an empty message here. */
  readonly wishes: string;
}

/**
 * Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE: a frame cannot hold the name of the worker, or its channel would
 * be that of another's wishes.
 */
export function workerChannels(prefix: string, worker: string): WorkerChannels {
  encodeName('worker', worker);
  if (worker.endsWith(WISHES)) throw outOfRange('worker', `a name that does not end in "${WISHES}"`, worker);
  const frames = checkName('prefix', prefix) + worker;
  return { frames, wishes: frames + WISHES };
}
