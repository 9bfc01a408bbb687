/** What a socket takes at most. */
export interface SocketBounds {
  /** Messages that wait in it. */
  readonly receiveHighWaterMark: number;
  /** Bytes of a frame. */
  readonly maxMessageBytes: number;
}

/** How sockets are made. */
export interface SocketOptions {
  readonly receiveHighWaterMark: number;
  readonly maxMessageSize: number;
  readonly linger: number;
  readonly reconnectInterval: number;
  readonly reconnectMaxInterval: number;
  readonly tcpKeepalive: number;
  readonly tcpKeepaliveIdle: number;
  readonly tcpKeepaliveInterval: number;
  readonly tcpKeepaliveCount: number;
  readonly ipv6: boolean;
}

/**
 * `receiveHighWaterMark`: an engine drops what this side does not take off. `maxMessageBytes`: at a larger frame libzmq 4.3.5
 * closes the connection, and a socket that connects does not make it again (session_base.cpp, engine_error). A host that is gone without a word is noticed
 * after a minute. IPv6 only where an address asks for it: else a name would be looked up for IPv6 first, where engines do not
 * listen.
 */
export function socketOptions(
  endpoint: string,
  { receiveHighWaterMark, maxMessageBytes }: SocketBounds,
): SocketOptions {
  return {
    receiveHighWaterMark,
    maxMessageSize: maxMessageBytes,
    linger: 0,
    reconnectInterval: 100,
    reconnectMaxInterval: 5000,
    tcpKeepalive: 1,
    tcpKeepaliveIdle: 30,
    tcpKeepaliveInterval: 10,
    tcpKeepaliveCount: 3,
    ipv6: endpoint.includes('['),
  };
}
