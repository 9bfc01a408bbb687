import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Router } from 'kvidx';
import { expect, it, onTestFinished } from 'vitest';
import { PromptTokenizer } from '../../../examples/openai-router/openai/prompt.js';
import { readOptions } from '../../../examples/openai-router/router/options.js';
import { createServer } from '../../../examples/openai-router/router/server.js';
import { stubWorkers, until } from './router-support.js';
import { begun, DONE, event } from './stub-worker.js';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

/** Notes what a method is given first, without keeping it. */
function note(prototype: object, method: string, refs: WeakRef<object>[], of: (given: object) => object) {
  const methods = prototype as Record<string, (...given: unknown[]) => unknown>;
  const original = methods[method]!;
  methods[method] = function (...given) {
    refs.push(new WeakRef(of(given[0] as object)));
    return original.apply(this, given);
  };
  onTestFinished(() => {
    methods[method] = original;
  });
}

it('an answer that has begun keeps nothing of a long prompt: not the body, the request, nor the tokens', async () => {
  const [worker] = await stubWorkers((arrival) => begun(arrival, event('a')));
  const options = ['--worker', worker!.url, '--log-level', 'silent'];
  const { app, close } = await createServer(readOptions(options));
  onTestFinished(() => close(0));
  const refs: WeakRef<object>[] = [];
  app.addHook('preHandler', (request, _reply, done) => {
    refs.push(new WeakRef(request.body as Buffer));
    done();
  });
  note(PromptTokenizer.prototype, 'tokens', refs, (request) => request);
  note(Router.prototype, 'route', refs, (request) => (request as { tokens: Uint32Array }).tokens);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', stream: true, prompt: 'word '.repeat(100_000) }),
  });
  expect(refs).toHaveLength(3);
  await until('they are gone', () => {
    gc();
    return refs.every((ref) => ref.deref() === undefined);
  });
  worker!.arrivals[0]!.response.end(DONE);
  expect(await response.text()).toBe(event('a') + DONE);
});
