import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { OpenAiError } from '../openai/errors.js';

/** What Node refuses before it is a request is answered in the same words as all else. */
export function answerClientError({ code }: NodeJS.ErrnoException, socket: Socket): void {
  if (socket.writable && code !== 'ECONNRESET') {
    const { status, message } = errorOf(code);
    const body = JSON.stringify(new OpenAiError(status, message).body());
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'connection: close',
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  }
  socket.destroy();
}

function errorOf(code: string | undefined): Pick<OpenAiError, 'status' | 'message'> {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, message: 'The request did not come in time.' };
  if (code === 'HPE_HEADER_OVERFLOW') return { status: 431, message: 'The headers are too large.' };
  return { status: 400, message: `The request is not HTTP (${code}).` };
}
