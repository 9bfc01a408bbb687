import { setImmediate } from 'node:timers/promises';

/** What of sockets and observers of zeromq is needed here. Closing one rejects what it waits for. */
interface Receiver<T> {
  readonly closed: boolean;
  receive(): Promise<T>;
}

/** A busy socket resolves at once, over and over: nothing else would run. */
const LONGEST_TURN_MS = 5;

/** Hands on all that comes, until the receiver is closed. Rejects when it fails before. */
export async function receiveAll<T>(receiver: Receiver<T>, onReceived: (received: T) => void): Promise<void> {
  let turnMs = performance.now();
  while (!receiver.closed) {
    let received: T;
    try {
      received = await receiver.receive();
    } catch (error) {
      if (receiver.closed) return;
      throw error;
    }
    if (receiver.closed) return;
    onReceived(received);
    if (performance.now() - turnMs < LONGEST_TURN_MS) continue;
    await setImmediate();
    turnMs = performance.now();
  }
}
