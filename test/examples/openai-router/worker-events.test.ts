import { EventFeed, KvIndex, ZmqSubscriber } from 'kvidx';
import { expect, it, onTestFinished } from 'vitest';
import { PromptTokenizer } from '../../../examples/openai-router/openai/prompt.js';
import { readCompletion } from '../../../examples/openai-router/openai/requests.js';
import { loadTokenizer } from '../../../examples/openai-router/openai/tokenizer.js';
import { MODEL, user, WorkerClient } from './worker-client.js';

const BLOCK_SIZE = 4;
const BOUNDED = { timeout: 20_000, interval: 5 };

async function follow({ worker }: WorkerClient): Promise<KvIndex> {
  const index = new KvIndex({ blockSize: BLOCK_SIZE });
  const subscriber = await ZmqSubscriber.open(new EventFeed(index), { idleProbeMs: 20 });
  onTestFinished(async () => {
    await subscriber.close();
    index.close();
  });
  subscriber.follow('w0', { endpoint: worker.events!, replayEndpoint: worker.replay! });
  return index;
}

it('KV events tell exactly what the cache holds, also to who joins late, and of what was evicted', async () => {
  const client = await WorkerClient.start({
    blockSize: BLOCK_SIZE,
    capacity: 300,
    eventsPort: 0,
    replayPort: 0,
  });
  const prompts = new PromptTokenizer(await loadTokenizer());
  const requests = Array.from({ length: 12 }, (_, i) => ({
    messages: [user(`Question ${i}: ${`word${i} `.repeat(40)}`)],
    ...(i % 3 === 0 && { cache_salt: 'mine' }),
  }));
  const early = await follow(client);
  await Promise.all(requests.map(({ messages, ...more }) => client.complete(messages, more)));
  const late = await follow(client);

  const { blocks } = await client.state();
  const held = await Promise.all(
    requests.map(async ({ messages, ...more }) => (await client.held(messages, more)).heldTokens),
  );
  expect(blocks).toBe(300);
  expect([held.some((tokens) => tokens > 80), held.some((tokens) => tokens < 20)]).toEqual([true, true]);
  for (const index of [early, late]) {
    const known = async () => ({
      blocks: index.residentBlocks(index.workers()[0]!),
      held: await Promise.all(
        requests.map(async (body) => {
          const request = readCompletion('chat', { model: MODEL, ...body });
          const namespace = { salt: request.cacheSalt };
          return index.lookupTokens(await prompts.tokens(request), { namespace }).overlap[0]! * BLOCK_SIZE;
        }),
      ),
    });
    await expect.poll(known, BOUNDED).toEqual({ blocks, held });
  }
  expect(early.enumerate(early.workers()[0]!)).toEqual(late.enumerate(late.workers()[0]!));
});

it('KV events name the blocks of a prompt and of its answer', async () => {
  const client = await WorkerClient.start({ blockSize: BLOCK_SIZE, eventsPort: 0, replayPort: 0 });
  const index = await follow(client);
  const ids = Array.from({ length: 40 }, (_, i) => i);
  const body = { model: MODEL, prompt: ids, max_tokens: 9 };
  await (await client.post('/v1/completions', body)).text();
  await expect.poll(() => index.residentBlocks(index.workers()[0]!), BOUNDED).toBe(12);
  expect(index.lookupTokens(ids).overlap[0]).toBe(10);
});

it('without a port for them there are none', async () => {
  const { worker } = await WorkerClient.start();
  expect([worker.events, worker.replay]).toEqual([undefined, undefined]);
});
