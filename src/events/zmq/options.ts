import { invalidArgType, outOfRange } from '../../errors.js';
import { guarded } from '../../guarded.js';
import { checkBoolean, checkFunction, checkInteger, checkName, checkOptions } from '../../validate.js';
import { checkStreamOptions, type StreamSettings } from '../stream/settings.js';
import { endpointOfRank } from './endpoint.js';
import type { SocketBounds } from './socket-options.js';
import type { FollowOptions, StreamPlace, StreamSinks, StreamStatus, ZmqSubscriberOptions } from './types.js';

const MAX_RANK = 0xffff;
const MAX_INT = 2 ** 31 - 1;

export interface SubscriberSettings extends SocketBounds {
  readonly stream: StreamSettings;
  readonly onError: (error: Error, worker: string, dpRank: number) => void;
  readonly onChange: (status: StreamStatus) => void;
  /** In ms since 1970, and never set back. */
  readonly now: () => number;
}

/** Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
export function checkSubscriberOptions(options: ZmqSubscriberOptions | undefined): SubscriberSettings {
  const given: ZmqSubscriberOptions = checkOptions(options);
  const { receiveHighWaterMark = 100_000, maxMessageBytes = 64 * 2 ** 20, onError, onChange } = given;
  return {
    stream: checkStreamOptions(given),
    receiveHighWaterMark: checkInteger('receiveHighWaterMark', receiveHighWaterMark, 1, MAX_INT),
    maxMessageBytes: checkInteger('maxMessageBytes', maxMessageBytes, 1, MAX_INT),
    onError: guarded(onError && checkFunction('onError', onError)),
    onChange: guarded(onChange && checkFunction('onChange', onChange)),
    now: () => performance.timeOrigin + performance.now(),
  };
}

/** Throws ERR_KVIDX_INVALID_ARG_TYPE. */
export function checkSinks(sinks: StreamSinks): StreamSinks {
  if (typeof sinks !== 'object' || sinks === null || typeof sinks.sink !== 'function') {
    throw invalidArgType('sinks', 'an object with a method sink', sinks);
  }
  return sinks;
}

/** A place for each rank. Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
export function checkFollowOptions(worker: string, options: FollowOptions): StreamPlace[] {
  checkName('worker', worker);
  if (typeof options !== 'object' || options === null) throw invalidArgType('options', 'an object', options);
  const { endpoint, replayEndpoint, ranks = 1, firstRank = 0, topic = '', bind = false } = options;
  checkInteger('firstRank', firstRank, 0, MAX_RANK);
  checkInteger('ranks', ranks, 1, MAX_RANK + 1 - firstRank);
  if (topic !== '') checkName('topic', topic);
  const isBound = checkBoolean('bind', bind);
  const places = Array.from({ length: ranks }, (_, i) => {
    const dpRank = firstRank + i;
    return {
      worker,
      dpRank,
      endpoint: endpointOfRank('endpoint', endpoint, dpRank, isBound),
      replayEndpoint:
        replayEndpoint === undefined ? undefined : endpointOfRank('replayEndpoint', replayEndpoint, dpRank),
      topic,
      isBound,
    };
  });
  checkApart(places, ranks);
  return places;
}

/** Ports of ranks rise by one: those of events and of replays must not meet. */
function checkApart(places: readonly StreamPlace[], ranks: number): void {
  const published = new Set(places.map(({ endpoint }) => endpoint));
  const met = places.find(
    ({ replayEndpoint }) => replayEndpoint !== undefined && published.has(replayEndpoint),
  );
  if (met === undefined) return;
  const expected =
    ranks === 1 ? 'another one than the endpoint' : `at least ${ranks} ports away from the endpoint`;
  throw outOfRange('replayEndpoint', expected, met.replayEndpoint);
}
