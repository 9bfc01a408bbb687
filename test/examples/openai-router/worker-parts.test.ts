import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readCompletion } from '../../../examples/openai-router/openai/requests.js';
import { answerTo } from '../../../examples/openai-router/worker/answers.js';
import { Line } from '../../../examples/openai-router/worker/line.js';
import { writerFor } from '../../../examples/openai-router/worker/writers.js';

const stays = new AbortController().signal;

/** A task, and how to end it. */
function task() {
  let end = (_error?: Error) => {};
  const ended = new Promise<void>((resolve, reject) => {
    end = (error) => (error ? reject(error) : resolve());
  });
  return { ended, end };
}

describe('a line', () => {
  it('lets one after the other do what it has to, in order, also after one failed', async () => {
    const line = new Line();
    const tasks = Array.from({ length: 4 }, task);
    const begun: number[] = [];
    const results = tasks.map(({ ended }, i) =>
      line.run(stays, async () => {
        begun.push(i);
        await ended;
        return i;
      }),
    );
    await Promise.resolve();
    expect([begun, line.waiting]).toEqual([[0], 3]);
    tasks[0]!.end();
    expect(await results[0]).toBe(0);
    tasks[1]!.end(new Error('failed'));
    await expect(results[1]).rejects.toThrow('failed');
    tasks[2]!.end();
    tasks[3]!.end();
    expect(await Promise.all([results[2], results[3]])).toEqual([2, 3]);
    expect([begun, line.waiting]).toEqual([[0, 1, 2, 3], 0]);
  });

  it('is left at once by who no longer wants to wait', async () => {
    const line = new Line();
    const first = task();
    const running = line.run(stays, () => first.ended);
    const leaves = new AbortController();
    const gone = line.run(leaves.signal, () => Promise.reject(new Error('its turn came')));
    const next = line.run(stays, async () => 'next');
    leaves.abort(new Error('gone'));
    await expect(gone).rejects.toThrow('gone');
    await expect(line.run(leaves.signal, async () => 1)).rejects.toThrow('gone');
    expect(line.waiting).toBe(1);
    first.end();
    await running;
    expect(await next).toBe('next');
  });
});

describe('an answer', () => {
  const request = (more: object = {}) => readCompletion('text', { model: 'm', prompt: 'x', ...more });
  /** A token a byte. */
  const bytes = { name: 'bytes', encode: (text: string) => Buffer.from(text) };

  it('is no longer than asked for, however many tokens its words are', () => {
    for (const max_tokens of [1, 2, 10, 100, 1000]) {
      const { pieces, ids, finishReason } = answerTo(request({ max_tokens }), Uint32Array.of(1), bytes);
      expect(ids).toEqual([...Buffer.from(pieces.join(''))]);
      expect(ids.length <= max_tokens || pieces.length === 1).toBe(true);
      expect(ids.length).toBeGreaterThan(max_tokens / 4);
      expect(finishReason).toBe(ids.length < max_tokens ? 'stop' : 'length');
    }
  });

  it('depends on the prompt alone', () => {
    const textOf = (...prompt: number[]) =>
      answerTo(request(), Uint32Array.from(prompt), bytes).pieces.join('');
    expect(textOf(1, 2, 3)).toBe(textOf(1, 2, 3));
    expect(new Set([textOf(1, 2, 3), textOf(1, 2, 4), textOf(1, 3, 2), textOf()]).size).toBe(4);
  });
});

it('a client that does not read is waited for, until it hangs up', async () => {
  const writing = task();
  const server = createServer(async (_, response) => {
    const hungUp = new AbortController();
    response.once('close', () => hungUp.abort());
    const writer = writerFor(
      readCompletion('text', { model: 'm', prompt: 'x', stream: true }),
      response,
      hungUp.signal,
    );
    writer.begin();
    try {
      for (;;) {
        await writer.write('word '.repeat(10_000), null);
        expect(response.writableNeedDrain).toBe(false);
      }
    } catch (error) {
      writing.end(error as Error);
    }
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  // Nobody reads the answer.
  get({ host: '127.0.0.1', port }, (answer) => setImmediate(() => answer.destroy()));
  await expect(writing.ended).rejects.toMatchObject({ name: 'AbortError' });
});
