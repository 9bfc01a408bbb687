import { afterEach, describe, expect, it, vi } from 'vitest';
import { memoryTransport } from '../../../src/sketch/transport/memory.js';

afterEach(() => {
  vi.useRealTimers();
});

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('messages within a process', () => {
  it('reach who is subscribed, in order, after publish has returned', async () => {
    const transport = memoryTransport();
    const got: string[] = [];
    await transport.subscribe('a', (bytes) => got.push(`1:${bytes}`));
    await transport.subscribe('a', (bytes) => got.push(`2:${bytes}`));
    await transport.subscribe('b', (bytes) => got.push(`b:${bytes}`));
    void transport.publish('a', Uint8Array.of(7));
    void transport.publish('a', Uint8Array.of(8));
    void transport.publish('c', Uint8Array.of(9));
    expect(got).toEqual([]);
    await settled();
    expect(got).toEqual(['1:7', '2:7', '1:8', '2:8']);
  });

  it('are copies, of a Buffer too', async () => {
    const transport = memoryTransport();
    const got: Uint8Array[] = [];
    await transport.subscribe('a', (bytes) => got.push(bytes));
    await transport.subscribe('a', (bytes) => bytes.fill(0));
    const sent = Buffer.of(1, 2, 3);
    await transport.publish('a', sent);
    sent.fill(9);
    await settled();
    expect(got).toEqual([Uint8Array.of(1, 2, 3)]);
  });

  it('do not reach who left before they were delivered', async () => {
    const transport = memoryTransport();
    const got: Uint8Array[] = [];
    const leave = await transport.subscribe('a', (bytes) => got.push(bytes));
    const stay = await transport.subscribe('a', () => {});
    void transport.publish('a', Uint8Array.of(1));
    void leave();
    await leave();
    await settled();
    await stay();
    await transport.publish('a', Uint8Array.of(2));
    await settled();
    expect(got).toEqual([]);
  });
});

describe('the latest message under a key', () => {
  it('stays for its time, which begins anew with each', async () => {
    vi.useFakeTimers();
    const transport = memoryTransport();
    const sent = Uint8Array.of(1);
    await transport.setLatest('k', sent, 1000);
    sent[0] = 9;
    vi.advanceTimersByTime(999);
    expect(await transport.getLatest('k')).toEqual(Uint8Array.of(1));
    await transport.setLatest('k', Uint8Array.of(2), 1000);
    (await transport.getLatest('k'))![0] = 9;
    vi.advanceTimersByTime(999);
    expect(await transport.getLatest('k')).toEqual(Uint8Array.of(2));
    vi.advanceTimersByTime(1);
    expect(await transport.getLatest('k')).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a transport that is closed', () => {
  it('refuses all calls, delivers nothing and has no timers', async () => {
    vi.useFakeTimers();
    const transport = memoryTransport();
    const got: Uint8Array[] = [];
    const leave = await transport.subscribe('a', (bytes) => got.push(bytes));
    await transport.setLatest('k', Uint8Array.of(1), 1000);
    void transport.publish('a', Uint8Array.of(1));
    await transport.close();
    await transport.close();
    await leave();
    await vi.advanceTimersByTimeAsync(1);
    expect([got, vi.getTimerCount()]).toEqual([[], 0]);
    for (const call of [
      transport.publish('a', Uint8Array.of(1)),
      transport.subscribe('a', () => {}),
      transport.setLatest('k', Uint8Array.of(1), 1),
      transport.getLatest('k'),
    ]) {
      await expect(call).rejects.toMatchObject({ code: 'ERR_KVIDX_CLOSED' });
    }
  });
});

describe('calls that make no sense', () => {
  it('are refused with a code', async () => {
    const transport = memoryTransport();
    const misuse = [
      transport.publish('', Uint8Array.of(1)),
      transport.publish('a', [1] as unknown as Uint8Array),
      transport.subscribe('a', undefined as unknown as () => void),
      transport.setLatest('k', Uint8Array.of(1), 0),
      transport.setLatest('k', Uint8Array.of(1), 2 ** 31),
      transport.getLatest(1 as unknown as string),
    ];
    for (const call of misuse) {
      await expect(call).rejects.toMatchObject({
        code: expect.stringMatching(/INVALID_ARG_TYPE|OUT_OF_RANGE/),
      });
    }
  });
});
