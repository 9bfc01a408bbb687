import { readFileSync } from 'node:fs';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { Agent } from 'undici';
import { once } from '../once.js';
import { modelNotFound } from '../openai/errors.js';
import { answerError, answerUnknownPath } from '../openai/http-errors.js';
import { PromptTokenizer } from '../openai/prompt.js';
import { loadTokenizer } from '../openai/tokenizer.js';
import { answerClientError } from './client-errors.js';
import { Completions } from './completions.js';
import { Journal } from './journal.js';
import { Metrics } from './metrics.js';
import type { RouterOptions } from './options.js';
import { type Arrived, readQuestion } from './question.js';
import { openResidency } from './residency.js';
import { StateReader } from './state-reader.js';
import { Workers } from './workers.js';

const CONNECT_MS = 2000;
/** A client that sends its request no faster is given up. */
const REQUEST_MS = 60_000;
/** Sessions that idle and requests that nobody ended are looked for so often. */
const EXPIRE_EVERY_MS = 10_000;
const page = readFileSync(new URL('page.html', import.meta.url));

export interface RouterServer {
  readonly app: FastifyInstance;
  /** Ends all it started. Requests under way may go on for so long first; no others are taken meanwhile. */
  close(patienceMs: number): Promise<void>;
}

/** A router that is ready, but does not listen yet. */
export async function createServer(options: RouterOptions): Promise<RouterServer> {
  const app = Fastify({
    logger: { level: options.logLevel, stream: process.stderr },
    bodyLimit: options.maxBodyMb * 1024 * 1024,
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: true,
    requestTimeout: REQUEST_MS,
    frameworkErrors: answerError,
    clientErrorHandler: answerClientError,
  });
  const prompts = new PromptTokenizer(await loadTokenizer(options.tokenizer));
  const residency = await openResidency(
    options,
    once((text) => app.log.warn(text)),
  );
  const { router } = residency;
  const dispatcher = new Agent({ connect: { timeout: CONNECT_MS } });
  const workers = new Workers({
    places: options.worker,
    router,
    dispatcher,
    workerKey: options.workerKey,
    log: app.log,
    healthEveryMs: options.healthEveryMs,
    joinAs: (name) => ({
      residency: residency.kind(name),
      ...(options.capacity !== undefined && { capacity: options.capacity }),
    }),
    onChange: ({ name, status, reason }, lost) => {
      if (status === 'up') return app.log.info(`${name} is up`);
      app.log.warn(`${name} is down: it ${reason}; ${lost.length} requests were under way there`);
      completions.lost(lost, `went down: it ${reason}`);
      residency.lost(name);
    },
  });
  const metrics: Metrics = new Metrics(() => state.read());
  const journal = new Journal(metrics);
  const { maxAttempts, firstByteMs, answerMs, idleMs } = options;
  const completions = new Completions({
    router,
    workers,
    prompts,
    journal,
    dispatcher,
    log: app.log,
    maxAttempts,
    firstByteMs,
    answerMs,
    idleMs,
  });
  const state = new StateReader({
    residency,
    workers,
    journal,
    tokenizer: prompts.tokenizer.name,
  });
  const expiring = setInterval(() => router.expire(), EXPIRE_EVERY_MS);

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.setErrorHandler(answerError);
  app.setNotFoundHandler(answerUnknownPath);

  app.post('/v1/chat/completions', (request, reply) => complete('chat', request, reply));
  app.post('/v1/completions', (request, reply) => complete('text', request, reply));
  async function complete(kind: Arrived['kind'], request: FastifyRequest, reply: FastifyReply) {
    await completions.serve(arrived(kind, request), request.raw, reply.raw);
    reply.hijack();
  }

  const model = (id: string) => ({ id, object: 'model', created: 0, owned_by: 'kvidx' });
  app.get('/v1/models', () => ({ object: 'list', data: workers.models().map(model) }));
  app.get<{ Params: { '*': string } }>('/v1/models/*', ({ params }) => {
    if (!workers.models().includes(params['*'])) throw modelNotFound(params['*']);
    return model(params['*']);
  });
  let isClosing = false;
  app.get('/health', (_request, reply) => {
    const up = workers.all().filter(({ status }) => status === 'up').length;
    const status = isClosing ? 'shutting down' : up > 0 ? 'ok' : 'no worker is up';
    return reply.code(status === 'ok' ? 200 : 503).send({ status, up });
  });
  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  app.get('/debug/state', () => state.read());
  app.post<{ Querystring: { kind?: string } }>('/debug/route', async (request) => {
    const kind = request.query.kind === 'text' ? 'text' : 'chat';
    return state.explain(await readQuestion(arrived(kind, request), { workers, prompts }));
  });
  app.get('/', (_request, reply) => reply.type('text/html').send(page));

  app.addHook('onClose', async () => {
    clearInterval(expiring);
    workers.close();
    await dispatcher.destroy();
    await residency.close();
  });
  await workers.start();
  for (const { name, reason } of workers.all()) {
    if (reason !== undefined) app.log.warn(`${name} is not up yet: it ${reason}`);
  }
  return {
    app,
    async close(patienceMs) {
      isClosing = true;
      await completions.close(patienceMs);
      await app.close();
    },
  };
}

function arrived(kind: Arrived['kind'], request: FastifyRequest): Arrived {
  const { headers, body } = request;
  request.body = undefined; // the request lives as long as its answer
  return { kind, headers, raw: (body as Buffer | undefined) ?? Buffer.alloc(0) };
}
