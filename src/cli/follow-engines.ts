import { hasKvidxCode } from '../errors.js';
import type { ZmqSubscriber } from '../events/zmq/zmq-subscriber.js';
import { CliError } from './cli-error.js';
import type { Engine } from './events-options.js';

/** Throws CliError where an endpoint cannot be had, as with --bind one that is taken. */
export function followEngines(subscriber: ZmqSubscriber, engines: readonly Engine[]): void {
  for (const { worker, follow } of engines) {
    try {
      subscriber.follow(worker, follow);
    } catch (error) {
      if (!hasKvidxCode(error) || error.code !== 'ERR_KVIDX_TRANSPORT') throw error;
      const hint = follow.bind ? ' (--bind listens there: give a free address of this machine)' : '';
      throw new CliError(`cannot ${follow.bind ? 'listen at' : 'connect to'} ${error.message}${hint}`);
    }
  }
}
