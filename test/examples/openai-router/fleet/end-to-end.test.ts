import { beforeEach, describe, expect, onTestFailed, onTestFinished, test } from 'vitest';
import type { FleetOptions } from '../../../../examples/openai-router/fleet/processes.js';
import { makeSessions, type Shape } from '../../../../examples/openai-router/load/sessions.js';
import { unclear } from './official-client.js';
import { QuietFleet } from './quiet-fleet.js';
import { RecordedRun, type Sent } from './recorded-run.js';

/** As of coding agents: a long beginning that all share, and turns that bring much to read. */
const SHAPE: Shape = { boilerplate: 6_000, task: 1_500, turn: 1_500, turns: 8, answer: 32 };
const SESSIONS = 30;
const WORKERS = ['w0', 'w1', 'w2'];
/** So many requests have ended when a worker dies, and when it is started again. */
const DIES_AFTER = 120;
const RETURNS_AFTER = 160;
const LEAST_SHARE = 0.15;
const LEAST_HITS = 0.95;

let seed: number;

beforeEach(() => {
  seed = Number(process.env.KVIDX_SEED ?? Math.floor(Math.random() * 2 ** 32));
  onTestFailed(() => console.error(`KVIDX_SEED=${seed} makes the same sessions`));
});

describe('30 sessions at once, which share a long beginning', () => {
  test('are spread evenly and find what is cached, while a worker dies and comes back', async () => {
    const { quiet, sent } = await run({}, { isDeadly: true });
    const whileUp = sent.filter(({ wereUp }) => wereUp);
    console.info(`By default, while all were up: ${shares(whileUp)}. ${hits(sent)}`);
    expect(whileUp.length).toBeLessThan(sent.length);
    expect(sent.at(-1)!.wereUp).toBe(true);
    for (const worker of WORKERS) expect(share(whileUp, worker)).toBeGreaterThanOrEqual(LEAST_SHARE);
    expect(foundOfHeld(sent)).toBeGreaterThanOrEqual(LEAST_HITS);
    await quiet.expectSettled(sent.length);
  });

  test('pile up on one worker where plain overlap decides', async () => {
    const { quiet, sent, early } = await run({ routerArgs: ['--overlap', 'set'] }, { isDeadly: true });
    console.info(`By plain overlap, until a worker died: ${shares(early)}. ${hits(sent)}`);
    expect(Math.max(...WORKERS.map((worker) => share(early, worker)))).toBeGreaterThan(0.8);
    await quiet.expectSettled(sent.length);
  });

  test('find what is cached where KV events tell it', async () => {
    const { quiet, sent } = await run({ events: true }, { isDeadly: false, turns: 5 });
    const later = sent.filter(({ turn }) => turn > 1);
    console.info(`By KV events: ${shares(sent)}. ${hits(sent)}`);
    console.info(`Expected and told: ${apart(sent)} apart, behind the first turns ${apart(later)}`);
    for (const worker of WORKERS) expect(share(sent, worker)).toBeGreaterThanOrEqual(LEAST_SHARE);
    expect(foundOfHeld(sent)).toBeGreaterThanOrEqual(LEAST_HITS);
    await quiet.expectSettled(sent.length);
    for (const { residency, degraded } of (await quiet.state()).workers)
      expect({ residency, degraded }).toEqual({ residency: 'exact', degraded: undefined });
  });
});

interface RunOptions {
  /** The worker with the most requests dies in the middle, and comes back. */
  readonly isDeadly: boolean;
  readonly turns?: number;
}

/** Answers when each turn was answered, and each request that was not had a clear error. */
async function run(options: FleetOptions, { isDeadly, turns = SHAPE.turns }: RunOptions) {
  const { routerArgs = [] } = options;
  const quiet = await QuietFleet.start({
    ...options,
    routerArgs: ['--health-every-ms', '100', ...routerArgs],
    workerArgs: ['--prefill-tokens-per-s', '100000', '--token-ms', '20'],
  });
  onTestFinished(() => quiet.fleet.stop());
  const recorded = new RecordedRun(quiet);
  const { sent } = recorded;
  let early: readonly Sent[] = [];
  let dead = '';
  if (isDeadly) {
    recorded.plan(DIES_AFTER, () => {
      early = [...sent];
      dead = WORKERS.toSorted((a, b) => share(early, b) - share(early, a))[0]!;
      return quiet.fleet.kill(dead);
    });
    recorded.plan(RETURNS_AFTER, async () => {
      await quiet.fleet.revive(dead);
      await quiet.untilAllUp();
    });
  }
  await recorded.converse(makeSessions(SESSIONS, 'agent', seed, { ...SHAPE, turns }), turns);
  const failed = sent.filter(({ error }) => error !== undefined);
  expect(failed.flatMap(({ error }) => unclear(error) ?? [])).toEqual([]);
  expect(sent.length - failed.length).toBe(SESSIONS * turns);
  return { quiet, sent, early };
}

function share(sent: readonly Sent[], name: string): number {
  return sent.filter(({ worker }) => worker === name).length / sent.length;
}

function sum(sent: readonly Sent[], of: (whole: Sent, cachedTokens: number) => number): number {
  return sent.reduce((total, each) => {
    const cachedTokens = each.usage?.prompt_tokens_details?.cached_tokens;
    return cachedTokens === undefined ? total : total + of(each, cachedTokens);
  }, 0);
}

/** What one request finds beyond what was held before it does not make up for what another one misses. */
function foundOfHeld(sent: readonly Sent[]): number {
  const found = sum(sent, ({ heldTokens }, cachedTokens) => Math.min(heldTokens, cachedTokens));
  return found / sum(sent, ({ heldTokens }) => heldTokens);
}

function shares(sent: readonly Sent[]): string {
  const all = WORKERS.map((worker) => `${worker} ${percent(share(sent, worker))}`);
  return `${all.join(', ')} of ${sent.length} requests`;
}

function hits(sent: readonly Sent[]): string {
  const found = sum(sent, (_, cachedTokens) => cachedTokens);
  const held = sum(sent, ({ heldTokens }) => heldTokens);
  return `${found} hit tokens of ${held} held just before: ${percent(found / held)} (${percent(foundOfHeld(sent))} request by request)`;
}

function apart(sent: readonly Sent[]): string {
  const difference = sum(sent, ({ expectedTokens }, cachedTokens) => Math.abs(expectedTokens - cachedTokens));
  return percent(difference / sum(sent, (_, cachedTokens) => cachedTokens));
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}
