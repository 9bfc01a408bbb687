import { describe, expect, it } from 'vitest';
import { SketchPublisher } from '../../../src/sketch/publisher.js';
import { SketchSubscriber } from '../../../src/sketch/subscriber.js';
import type { SketchPublisherOptions, SketchSubscriberOptions } from '../../../src/sketch/types.js';
import { codeOf } from '../../kv-index/support.js';
import { publisherOf, subscriberOf } from './sides.js';

describe('options that make no publisher', () => {
  it.each<[string, Partial<Record<keyof SketchPublisherOptions, unknown>>, string]>([
    ['no transport', { transport: {} }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['no worker', { worker: undefined }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a worker without a name', { worker: '' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a name of half a character', { worker: '\ud800' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a name of 70,000 bytes', { worker: 'w'.repeat(70_000) }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a name of 70,000 bytes in fewer characters', { worker: 'ä'.repeat(35_000) }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ["the name of another's wishes", { worker: 'w:want' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['no resident blocks', { resident: { blockSize: 24 } }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a block size of 0', { resident: { blockSize: 0, hashes() {} } }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a block size beyond u16', { resident: { blockSize: 65_536, hashes() {} } }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a rate of 0', { targetFpp: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['headroom below 0', { headroom: -0.1 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['headroom that is no number', { headroom: '1' }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['an empty prefix', { prefix: '' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['no pause', { everyMs: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a pause that no timer waits', { everyMs: 2 ** 31 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a full frame every 0 frames', { fullEvery: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a full frame every NaN ms', { fullEveryMs: Number.NaN }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['grants that no timer waits for', { grantEveryMs: 2 ** 31 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a life of 0', { latestTtlMs: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['an onError that is none', { onError: 1 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a clock that is none', { now: 1 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
  ])('%s', (_, options, code) => {
    expect(codeOf(() => publisherOf(options as Partial<SketchPublisherOptions>))).toBe(code);
  });

  it('of a call are refused, too', async () => {
    const { publisher, sent } = publisherOf({ now: () => 5000 });
    const wrong = { full: 1, clear: 'yes' } as never;
    await expect(publisher.publish(wrong)).rejects.toMatchObject({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' });
    await expect(publisher.publish(1 as never)).rejects.toMatchObject({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' });
    await expect(publisher.close(wrong)).rejects.toMatchObject({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' });
    await publisher.publish();
    expect(sent()).toEqual(['full 5000.0']);
  });

  it('none at all', () => {
    const create = SketchPublisher as unknown as new () => SketchPublisher;
    expect(codeOf(() => new create())).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  });
});

describe('options that make no subscriber', () => {
  it.each<[string, Partial<Record<keyof SketchSubscriberOptions, unknown>>, string]>([
    ['no transport', { transport: undefined }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a block size of 0', { blockSize: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a prefix that is none', { prefix: 1 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['no workers', { maxWorkers: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['bytes below 0', { maxBytes: -1 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['no pause', { wantEveryMs: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a pause that no timer waits', { wantEveryMs: 2 ** 31 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['yielding after NaN', { yieldAfterMs: Number.NaN }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['an onError that is none', { onError: 1 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a clock that is none', { now: 1 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
  ])('%s', (_, options, code) => {
    expect(codeOf(() => subscriberOf(options as Partial<SketchSubscriberOptions>))).toBe(code);
  });

  it('none at all', () => {
    const create = SketchSubscriber as unknown as new () => SketchSubscriber;
    expect(codeOf(() => new create())).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  });
});
