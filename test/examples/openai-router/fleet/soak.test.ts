import { setTimeout as sleep } from 'node:timers/promises';
import type OpenAI from 'openai';
import { expect, onTestFinished, test, vi } from 'vitest';
import { makeSessions, type Session, type Shape } from '../../../../examples/openai-router/load/sessions.js';
import { COLLECTS_GARBAGE, growth, type MemorySample, sampleMemory } from './memory-watch.js';
import { askTurn, hangUp, officialClient, streamTurn, unclear } from './official-client.js';
import { QuietFleet } from './quiet-fleet.js';

const LASTS_MS = 60_000;
const STREAMS = 24;
const SHAPE: Shape = { boilerplate: 400, task: 100, turn: 100, turns: 4, answer: 16 };
/** The same ones come again and again: what the router remembers of new ones is bounded, but by much. */
const SESSIONS = 48;
/** Of so many requests one's client goes away in the middle. */
const HANGS_UP = 10;
const FLAPS_AFTER_MS = 1_500;

/*
 * What is alive grows by 60 to 110 bytes a request from the second third of the minute to the last, some 2,500 requests on
 * two cores, most of it compiled code. With 1 kB kept of each request it is 1,160 bytes (in the heap) or 1,240 (in buffers).
 * The resident set grows by 0.7 to 1.1 MB, and by 2 to 5 MB with such leaks.
 */
const MOST_ALIVE_BYTES = 500_000;
const MOST_ALIVE_BYTES_A_REQUEST = 300;
const MOST_RESIDENT_BYTES = 8_000_000;

test('a router under load whose workers die and come back keeps nothing of the requests that ended', async () => {
  vi.stubEnv('NODE_OPTIONS', COLLECTS_GARBAGE);
  const quiet = await QuietFleet.start({
    routerArgs: ['--health-every-ms', '100'],
    workerArgs: ['--prefill-tokens-per-s', '100000'],
  });
  vi.unstubAllEnvs();
  onTestFinished(() => quiet.fleet.stop());
  const samples: MemorySample[] = [];
  const load = new Load(officialClient(quiet.fleet.routerUrl));
  await Promise.all([
    load.run(),
    flap(quiet, () => load.isOver),
    (async () => {
      for (; !load.isOver; await sleep(1_000)) samples.push(await sampleMemory(quiet.fleet));
    })(),
  ]);
  const { aliveBytes, rssBytes, requests } = growth(samples);
  const curve = samples.filter((_, i) => i % 5 === 0).map((sample) => (sample.aliveBytes / 1e6).toFixed(1));
  console.info(
    `${load.requests} requests, ${load.failures.length} failed, ${load.hungUp} hung up; alive every 5 s: ${curve.join(', ')} MB; ` +
      `in the last ${requests} requests ${aliveBytes} bytes more, ${rssBytes} resident`,
  );
  expect(load.failures.flatMap((error) => unclear(error) ?? [])).toEqual([]);
  await quiet.untilAllUp();
  await quiet.expectSettled(load.requests);
  expect(aliveBytes).toBeLessThan(MOST_ALIVE_BYTES + MOST_ALIVE_BYTES_A_REQUEST * requests);
  expect(rssBytes).toBeLessThan(MOST_RESIDENT_BYTES);
});

/** Whoever got an answer asks at once for the next one. */
class Load {
  readonly failures: unknown[] = [];
  requests = 0;
  hungUp = 0;
  readonly #client: OpenAI;
  readonly #endsAt = performance.now() + LASTS_MS;
  #sessions = 0;

  constructor(client: OpenAI) {
    this.#client = client;
  }

  get isOver(): boolean {
    return performance.now() > this.#endsAt;
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: STREAMS }, () => this.#stream()));
  }

  async #stream(): Promise<void> {
    while (!this.isOver) {
      const session = makeSessions(SESSIONS, 'soak', 1, SHAPE)[this.#sessions++ % SESSIONS]!;
      let goesOn = true;
      while (goesOn && !session.isOver && !this.isOver) goesOn = await this.#turn(session);
    }
  }

  /** False: the session is over. */
  async #turn(session: Session): Promise<boolean> {
    const number = ++this.requests;
    const body = session.body('kvidx-fake');
    if (number % HANGS_UP === 0) {
      this.hungUp++;
      this.#failed(await hangUp(this.#client, session.name, body));
      return false;
    }
    const ask = number % 2 === 0 ? askTurn : streamTurn;
    const { text, error } = await ask(this.#client, session.name, body);
    session.answered(text);
    this.#failed(error);
    return error === undefined;
  }

  #failed(error: unknown): void {
    if (error !== undefined) this.failures.push(error);
  }
}

/** One worker after the other dies, and comes back. */
async function flap({ fleet }: QuietFleet, isOver: () => boolean): Promise<void> {
  for (let i = 0; !isOver(); i++) {
    const { name } = fleet.workers[i % fleet.workers.length]!;
    await fleet.kill(name);
    await sleep(FLAPS_AFTER_MS);
    await fleet.revive(name);
    await sleep(FLAPS_AFTER_MS);
  }
}
