import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { upstreamFailed } from '../../../examples/openai-router/openai/errors.js';
import { Client, ClientGone } from '../../../examples/openai-router/router/client.js';

const PATIENCE_MS = 1000;
const MB = 2 ** 20;

class Socket extends EventEmitter {
  destroyed = false;
}

/** Takes nothing more before it drains. */
class Response extends EventEmitter {
  written: Buffer[] = [];
  ended: string | undefined;
  destroyed = false;

  write(piece: Buffer): boolean {
    this.written.push(piece);
    return false;
  }

  end(text: string): void {
    this.ended = text;
  }

  destroy(): void {
    this.destroyed = true;
  }
}

function open(socket = new Socket()) {
  const response = new Response();
  const client = new Client({ socket } as object as IncomingMessage, response as object as ServerResponse);
  return { client, response, socket, controller: client.renew() };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('what is written to a client', () => {
  it('may take any time, where the client goes on reading', async () => {
    const { client, response } = open();
    const piece = Buffer.alloc(MB, 'x');
    const writing = client.write(piece, PATIENCE_MS);
    let waits = 0;
    while (Buffer.concat(response.written).length < piece.length) {
      await vi.advanceTimersByTimeAsync(PATIENCE_MS - 1);
      response.emit('drain');
      await vi.advanceTimersByTimeAsync(0);
      waits++;
    }
    response.emit('drain');
    await writing;
    expect(waits).toBeGreaterThanOrEqual(10);
    expect(Buffer.concat(response.written).equals(piece)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is given up when the client does not read', async () => {
    const { client, controller } = open();
    const writing = client.write(Buffer.alloc(MB), PATIENCE_MS);
    const fails = expect(writing).rejects.toThrow(`the client did not read for ${PATIENCE_MS} ms`);
    await vi.advanceTimersByTimeAsync(PATIENCE_MS);
    await fails;
    expect(controller.signal.reason).toBeInstanceOf(ClientGone);
  });

  it('ends with an error in a whole event, or not at all', async () => {
    const error = upstreamFailed('no');
    const { client, response } = open();
    const writing = client.write(Buffer.from('data: 1\n\n'), PATIENCE_MS);
    response.emit('drain');
    await writing;
    client.fail(error);
    expect(response.ended).toBe(`data: ${JSON.stringify(error.body())}\n\n`);

    const cut = open();
    const cutting = expect(cut.client.write(Buffer.alloc(MB), PATIENCE_MS)).rejects.toBe(error);
    cut.client.abort(error);
    await cutting;
    cut.client.fail(error);
    expect([cut.response.ended, cut.response.destroyed]).toEqual([undefined, true]);
  });
});

describe('a client that hangs up', () => {
  it('ends what is done for it, and whatever would be done next', () => {
    const { client, socket, controller } = open();
    socket.emit('close');
    expect(controller.signal.reason).toBeInstanceOf(ClientGone);
    expect(client.renew().signal.reason).toBe(controller.signal.reason);
    client.abort(new Error('later'));
    expect(client.renew().signal.reason).toBe(controller.signal.reason);
  });

  it('may have done so before', () => {
    const socket = new Socket();
    socket.destroyed = true;
    expect(open(socket).controller.signal.reason).toBeInstanceOf(ClientGone);
  });

  it('is no matter once it has its answer', () => {
    const { client, socket, controller } = open();
    client.release();
    socket.emit('close');
    expect(controller.signal.aborted).toBe(false);
    expect(socket.listenerCount('close')).toBe(0);
  });
});
