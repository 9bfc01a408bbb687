import { expect, test } from 'vitest';
import { multimodalKey } from '../../../src/index.js';
import { batch, feedOf, hits, prompt, store } from './support.js';

const tokens = prompt(1, 2);

test('LoRA, salt and model keep blocks apart, and both sides of a request meet', () => {
  const { index, feed } = feedOf({ namespace: { model: 'm' } });
  const engine = feed.follow('w0');
  engine.apply(batch(store([1, 2], tokens, { lora_name: 'x', lora_id: 3 })));
  engine.apply(batch(store([3], tokens.slice(0, 4), { extra_keys: [['x']] })));
  expect(hits(index, tokens)).toEqual({});
  expect(hits(index, tokens, { namespace: { model: 'm' } })).toEqual({});
  expect(hits(index, tokens, { namespace: { model: 'm', lora: 'x' } })).toEqual({ 'w0 0 gpu': 2 });
  expect(hits(index, tokens, { namespace: { model: 'm', salt: 'x' } })).toEqual({ 'w0 0 gpu': 1 });
});

test('the salt of vLLM stands among the extra keys of the first block, that of SGLang beside them: both mean one prompt', () => {
  const { index, feed } = feedOf();
  const vllm = store([1, 2], tokens, { extra_keys: [['lora', 'tenant-a'], ['lora']], lora_name: 'lora' });
  feed.follow('vllm').apply(batch(vllm));
  feed
    .follow('vllm')
    .apply(
      batch(store([3], prompt(9, 1), { parent_block_hash: 2, lora_name: 'lora', extra_keys: [['lora']] })),
    );
  feed.follow('sglang').apply(batch(store([-1, -2], tokens, { cache_salt: 'tenant-a', lora_name: 'lora' })));
  const namespace = { lora: 'lora', salt: 'tenant-a' };
  expect(hits(index, prompt(1, 3), { namespace })).toEqual({ 'vllm 0 gpu': 3, 'sglang 0 gpu': 2 });
  expect(hits(index, tokens, { namespace: { lora: 'lora' } })).toEqual({});
});

test('an adapter that only has a number is not the base model, and may be given its name', () => {
  const old = ['BlockStored', [1, 2], null, tokens, 4, 7];
  const { index, feed } = feedOf();
  feed.follow('w0').apply(batch(old));
  expect(hits(index, tokens)).toEqual({});
  expect(hits(index, tokens, { namespace: { lora: '7' } })).toEqual({ 'w0 0 gpu': 2 });
  const named = feedOf({ loraNames: { 7: 'sql' } });
  named.feed.follow('w0').apply(batch(old));
  expect(hits(named.index, tokens, { namespace: { lora: 'sql' } })).toEqual({ 'w0 0 gpu': 2 });
});

test('multimodal items are extra keys of the blocks that they cover, in both forms that vLLM has had', () => {
  const image = 'ab'.repeat(32);
  const { index, feed } = feedOf();
  feed.follow('pairs').apply(
    batch(
      store([1, 2], tokens, {
        extra_keys: [
          [[image, 2]],
          [
            [image, -2],
            ['cat.png', 1],
          ],
        ],
      }),
    ),
  );
  feed.follow('bare').apply(batch(store([1, 2], tokens, { extra_keys: [[image], [image, 'cat.png']] })));
  expect(hits(index, tokens)).toEqual({});
  const [key, cat] = [multimodalKey(image), multimodalKey('cat.png')];
  expect(key).toBe(0xabab_abab_abab_ababn);
  const extraKeys = new Map([
    [0, [key]],
    [1, [cat, key]],
  ]);
  expect(hits(index, tokens, { extraKeys })).toEqual({ 'pairs 0 gpu': 2, 'bare 0 gpu': 2 });
});

test('an identifier that is no digest, in a first block, is an item where it has an offset, and else the salt', () => {
  const { index, feed } = feedOf();
  const one = tokens.slice(0, 4);
  feed.follow('item').apply(batch(store([1], one, { extra_keys: [[['cat.png', 0]]] })));
  feed.follow('salt').apply(batch(store([1], one, { extra_keys: [['cat.png']] })));
  feed.follow('both').apply(batch(store([1], one, { extra_keys: [[['cat.png', 0], 'salt']] })));
  const extraKeys = new Map([[0, [multimodalKey('cat.png')]]]);
  expect(hits(index, one, { extraKeys })).toEqual({ 'item 0 gpu': 1 });
  expect(hits(index, one, { namespace: { salt: 'cat.png' } })).toEqual({ 'salt 0 gpu': 1 });
  expect(hits(index, one, { extraKeys, namespace: { salt: 'salt' } })).toEqual({ 'both 0 gpu': 1 });
});

test('a salt may look like a digest; a mere identifier is in other blocks as well', () => {
  const digest = 'cd'.repeat(32);
  const { index, feed } = feedOf();
  feed.follow('salt').apply(batch(store([1], tokens.slice(0, 4), { extra_keys: [[digest]] })));
  feed.follow('item').apply(batch(store([1, 2], tokens, { extra_keys: [[digest], [digest]] })));
  expect(hits(index, tokens, { namespace: { salt: digest } })).toEqual({ 'salt 0 gpu': 1 });
  const key = multimodalKey(digest);
  const extraKeys = new Map([
    [0, [key]],
    [1, [key]],
  ]);
  expect(hits(index, tokens, { extraKeys })).toEqual({ 'item 0 gpu': 2 });
});

test('adapter 0 is none, and a number beside a name may be any', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  engine.apply(batch(['BlockStored', [1], null, tokens.slice(0, 4), 4, 0]));
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 1 });
  const named = store([2], tokens.slice(0, 4), { lora_id: 2 ** 40, lora_name: 'sql' });
  expect(engine.apply(batch(named)).bad).toEqual([]);
  expect(hits(index, tokens, { namespace: { lora: 'sql' } })).toEqual({ 'w0 0 gpu': 1 });
});

test('embeddings tell blocks apart, and a key that nobody knows makes the event a bad one', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const one = tokens.slice(0, 4);
  const digest = new Uint8Array(32).fill(7);
  engine.apply(batch(store([1], one, { extra_keys: [[digest]] })));
  expect(hits(index, one)).toEqual({});
  expect(hits(index, one, { extraKeys: new Map([[0, [0x0707_0707_0707_0707n]]]) })).toEqual({
    'w0 0 gpu': 1,
  });
  const { bad } = engine.apply(batch(store([2], one, { extra_keys: [[{ kind: 'new' }]] })));
  expect(bad).toHaveLength(1);
  expect(hits(index, one)).toEqual({});
});

test('explain knows the namespaces of events', () => {
  const { index, feed } = feedOf();
  feed.follow('w0').apply(batch(store([1, 2], tokens, { lora_name: 'sql' })));
  const { reason, message } = index.explain({ tokens });
  expect(reason).toBe('namespace-differs');
  expect(message).toContain('{"lora":"sql"}');
});
