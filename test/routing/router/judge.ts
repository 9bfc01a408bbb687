import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import type { Router } from '../../../src/routing/router.js';
import type { Decision, MigrationOptions } from '../../../src/routing/types.js';
import type { Model } from './model.js';
import type { Life, Request, Session } from './model-types.js';
import { blocksOf, homeOf, movedMs, overlapOf, pendingOf, residentBlocksOf, statsOf } from './model-views.js';
import { BLOCK } from './support.js';

export interface Rules {
  readonly migration: MigrationOptions | undefined;
  /** Work never decays. */
  readonly exactWork: boolean;
  /** What is routed and not dispatched is load for the next decision. */
  readonly spreads: boolean;
  /** With bounds the model does not know what is resident. */
  readonly bounds: { readonly maxBlocks: number; readonly capacity: number } | undefined;
}

const CHECKS_BETWEEN_WALKS = 200;

/** Holds a router to its model. */
export class Judge {
  readonly #router: Router;
  readonly #model: Model;
  readonly #rules: Rules;
  readonly #met: Set<string>;
  #checks = 0;

  constructor(router: Router, model: Model, rules: Rules, met: Set<string>) {
    this.#router = router;
    this.#model = model;
    this.#rules = rules;
    this.#met = met;
  }

  met(event: string): void {
    this.#met.add(event);
  }

  checkStats(): void {
    const actual = this.#router.stats();
    const expected = statsOf(this.#model);
    const lives = [...this.#model.lives.values()];
    const workers = expected.workers.map((worker, i) => {
      const { work, residentBlocks } = actual.workers[i]!;
      const [told, most] = residentBlocksOf(this.#model, lives[i]!);
      const least = this.#rules.bounds ? 0 : told; // what a bound evicts, the model does not know
      ok(
        residentBlocks! >= least && residentBlocks! <= most,
        `resident blocks of ${worker.worker}: ${residentBlocks}, not ${least} to ${most}`,
      );
      if (this.#rules.exactWork) return { ...worker, residentBlocks };
      ok(work >= 0 && Number.isFinite(work), `work ${work}`);
      return { ...worker, work, residentBlocks };
    });
    deepStrictEqual(actual, { ...expected, workers });
    for (const { work, worker, status, residency, sketch: _, ...figures } of actual.workers) {
      for (const [name, figure = -1] of Object.entries(figures)) {
        ok(Number.isSafeInteger(figure) && figure >= 0, `${name} of ${worker}: ${figure}`);
      }
    }
    deepStrictEqual(
      this.#router.workers(),
      Array.from(this.#model.lives.values(), ({ name, status }) => ({ name, status })),
    );
    this.#checkIndex();
    if (++this.#checks % CHECKS_BETWEEN_WALKS === 0) this.checkAll();
  }

  #checkIndex(): void {
    const { bounds } = this.#rules;
    const { sessions, blocks, workers } = this.#router.index.stats();
    if (!bounds) {
      strictEqual(sessions, this.#model.owners.size, 'sessions that own blocks');
      return;
    }
    ok(blocks <= bounds.maxBlocks, 'blocks of the index');
    ok(sessions <= this.#model.settings.maxSessions, 'sessions of the index');
    for (const { capacity, residentBlocks } of workers) {
      ok(residentBlocks <= (capacity ?? bounds.maxBlocks), 'resident blocks');
      ok(capacity === undefined || capacity === bounds.capacity, 'capacity');
    }
  }

  checkAll(): void {
    strictEqual(this.#router.index.validate(), '');
    if (!this.#rules.bounds)
      this.#within(this.#router.index.stats().blocks, blocksOf(this.#model), 'known blocks');
    for (const name of this.#model.sessions.keys()) this.checkHome(name);
  }

  /** Home and refusals of a session, as explanations tell them. */
  checkHome(name: string): void {
    const model = this.#model;
    if (model.up().length === 0) return;
    const session = model.sessionOf(name);
    const home = homeOf(session);
    const { candidates } = this.#router.explain({ session: name, tokens: [] });
    deepStrictEqual(
      candidates.map(({ worker, sticky, rejects }) => ({ worker, sticky, rejects })),
      model.up().map((life) => ({
        worker: life.name,
        sticky: life === home,
        rejects: model.refusals(session, life),
      })),
      `home and refusals of ${name}`,
    );
    if (home) this.met('home');
  }

  /** Was this a decision that the router may make among these workers? */
  checkDecision(
    decision: Decision,
    request: Pick<Request, 'id' | 'hashes' | 'inputLength'>,
    session: Session,
    among: readonly Life[],
  ): void {
    const { worker, overlapBlocks, cachedTokens, newTokens, firstTurn, migrated } = decision;
    const { inputLength, hashes, id } = request;
    strictEqual(decision.requestId, id);
    const life = among.find(({ name }) => name === worker);
    ok(life, `${worker} is none of those that may take the request`);
    if (!this.#rules.bounds)
      this.#within(overlapBlocks, overlapOf(this.#model, life, hashes), 'overlapBlocks');
    strictEqual(cachedTokens, Math.min(overlapBlocks * BLOCK, inputLength), 'cachedTokens');
    strictEqual(newTokens, inputLength - cachedTokens, 'newTokens');
    strictEqual(firstTurn, session.visits.length === 0, 'firstTurn');
    if (overlapBlocks > 0) this.met('cached');
    if (migrated) this.#checkMigration(life, session, id);
  }

  #within(actual: number, [least, most]: readonly [number, number], what: string): void {
    ok(actual >= least && actual <= most, `${what}: ${actual}, not from ${least} to ${most}`);
  }

  #checkMigration(life: Life, session: Session, id: string): void {
    const { migration } = this.#rules;
    ok(migration, 'moved without the option');
    const home = homeOf(session);
    ok(home && home !== life, 'moved, but not from its home');
    const { spreads } = this.#rules;
    const pending = pendingOf(this.#model, home, spreads, id);
    ok(pending > migration.hotTokens, 'moved from a home that is not hot');
    ok(pendingOf(this.#model, life, spreads, id) < pending, 'moved to one that is no better');
    const moved = movedMs(session);
    ok(moved === undefined || this.#model.nowMs - moved >= migration.cooldownMs!, 'moved too soon');
    this.met('migrated');
  }
}
