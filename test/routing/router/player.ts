import { deepStrictEqual, strictEqual } from 'node:assert';
import { Router } from '../../../src/routing/router.js';
import type { AdmittedAs, Decision, Residency } from '../../../src/routing/types.js';
import { codeOf } from '../../kv-index/support.js';
import type { Random } from '../../property/random.js';
import { Choices } from './choices.js';
import { Judge } from './judge.js';
import { Model } from './model.js';
import type { Request } from './model-types.js';
import { BLOCK, Clock, SPECS } from './support.js';
import { WRONG_CALLS } from './wrong-calls.js';

const WORKERS = ['a', 'b', 'c', 'd'];
const RESIDENCIES: readonly Residency[] = ['estimate', 'exact', 'larger'];
const HOOKS = ['onFirstToken', 'onFinish', 'onError', 'onReject'] as const;

/** Plays random calls, right and wrong ones, on a router and on the model, and compares after each. */
export class Player {
  readonly #random: Random;
  readonly #clock = new Clock();
  readonly #router: Router;
  readonly #model: Model;
  readonly #judge: Judge;
  readonly #recordsAtRoute: boolean;
  readonly #bounded: boolean;
  readonly #choices: Choices;
  #told = 0;

  constructor(random: Random, round: number, met: Set<string>) {
    this.#random = random;
    const small = () => (random.oneIn(3) ? 1_000 : random.between(2, 10));
    const settings = {
      maxSessions: small(),
      sessionIdleMs: random.between(100, 2_000),
      maxRequests: small(),
      requestIdleMs: random.between(100, 2_000),
      rejectTtlMs: random.between(0, 500),
    };
    const migration = random.oneIn(2) ? { hotTokens: random.between(0, 300), cooldownMs: 200 } : undefined;
    const exactWork = random.oneIn(2);
    this.#recordsAtRoute = random.oneIn(2);
    this.#bounded = round % 4 === 3;
    const maxBlocks = this.#bounded ? 50 : 1_000_000;

    this.#router = new Router({
      ...settings,
      policy: SPECS[round % SPECS.length]!,
      blockSize: BLOCK,
      recordAt: this.#recordsAtRoute ? 'route' : 'finish',
      workHalfLifeMs: exactWork ? Number.POSITIVE_INFINITY : 1_000,
      maxBlocks,
      now: this.#clock.now,
      ...(migration && { migration }),
    });
    this.#model = new Model(settings, this.#clock.ms);
    this.#choices = new Choices(random, this.#model);
    const bounds = this.#bounded ? { maxBlocks, capacity: 20 } : undefined;
    const rules = { migration, exactWork, bounds, spreads: !this.#recordsAtRoute };
    this.#judge = new Judge(this.#router, this.#model, rules, met);
  }

  step(): void {
    this.#tick();
    const kind = this.#random.below(100);
    if (kind < 24) this.#route();
    else if (kind < 40) this.#dispatch();
    else if (kind < 66) this.#hook();
    else if (kind < 72) this.#reroute();
    else if (kind < 76) this.#assign();
    else if (kind < 80) this.#whenPrefilled();
    else if (kind < 83) this.#endSession();
    else if (kind < 85) this.#expire();
    else if (kind < 90) this.#changeWorkers();
    else if (kind < 93) this.#feed();
    else if (kind < 94) this.#router.index.restore(this.#router.index.snapshot());
    else if (kind < 97) this.#wrongCall();
    else this.#judge.checkHome(this.#choices.session() ?? 'nobody');
    strictEqual(this.#told, this.#model.told, 'callbacks');
    this.#judge.checkStats();
  }

  finish(): void {
    const router = this.#router;
    this.#judge.checkAll();
    for (const id of [...this.#model.requests.keys()]) {
      strictEqual(router.onError(id), this.#model.onError(id));
    }
    strictEqual(this.#told, this.#model.told, 'callbacks');
    this.#judge.checkStats();
    for (const { inflight, pendingPrefillTokens, ongoingDecodeTokens, runningTokens } of router.stats()
      .workers) {
      deepStrictEqual(
        [inflight, pendingPrefillTokens, ongoingDecodeTokens, runningTokens],
        [0, 0, 0, 0],
        'load',
      );
    }
    for (const worker of router.index.workers()) {
      if (!/ \(estimate\)$|^.$/.test(worker.name))
        strictEqual(router.index.residentBlocks(worker), 0, worker.name);
    }
    for (const name of [...this.#model.sessions.keys()]) {
      const owned = this.#model.endSession(name);
      if (!this.#bounded) strictEqual(router.endSession(name), owned, 'owned blocks');
      else router.endSession(name);
    }
    this.#judge.checkAll();
    router.expire(this.#clock.ms + 1e9);
    deepStrictEqual([router.stats().sessions, router.index.stats().sessions], [0, 0], 'sessions');
    for (const { name } of router.workers()) router.removeWorker(name);
    strictEqual(router.index.stats().blocks, 0, 'blocks');
    strictEqual(router.index.validate(), '');
    router.close();
  }

  /** Time goes on, now and then far, now and then back. */
  #tick(): void {
    const random = this.#random;
    if (random.oneIn(50)) this.#clock.ms += random.between(100, 1_000);
    else if (random.oneIn(40)) this.#clock.ms -= random.between(1, 500);
    else this.#clock.ms += random.below(12);
    this.#model.nowMs = Math.max(this.#model.nowMs, this.#clock.ms);
  }

  // ------------------------------------------------------------------------------------------------------ decisions

  #route(): void {
    const request = this.#choices.request();
    const model = this.#model;
    if (model.up().length === 0) {
      strictEqual(
        codeOf(() => this.#router.route(request)),
        'ERR_KVIDX_NO_WORKERS',
      );
      this.#judge.met('route: no workers');
      return;
    }
    const session = model.sessionOf(request.session);
    const explained = this.#random.oneIn(3) ? this.#router.explain(request) : undefined;
    const decision = this.#router.route(request);
    if (explained) strictEqual(explained.worker, decision.worker, 'explained worker');
    const { requestId } = decision;
    if (request.requestId !== undefined) strictEqual(requestId, request.requestId);
    const { seqHashes: hashes, inputLength } = request;
    this.#judge.checkDecision(decision, { id: requestId, hashes, inputLength }, session, model.up());
    this.#place(model.route(requestId, request.session, hashes, inputLength), decision);
  }

  #reroute(): void {
    const id = this.#choices.id();
    const request = this.#model.touch(id);
    const call = () => this.#router.reroute(id);
    if (request?.phase !== 'routed') {
      strictEqual(codeOf(call), 'ERR_KVIDX_OUT_OF_RANGE');
      return;
    }
    if (this.#model.up().length === 0) {
      strictEqual(codeOf(call), 'ERR_KVIDX_NO_WORKERS');
      return;
    }
    const left = this.#model.up().filter((life) => !request.refusedBy.has(life));
    const decision = call();
    strictEqual(decision === undefined, left.length === 0, 'rerouted');
    this.#judge.met(decision ? 'reroute: another' : 'reroute: none left');
    if (!decision) return;
    this.#judge.checkDecision(decision, request, request.session, left);
    this.#place(request, decision);
  }

  #assign(): void {
    const id = this.#choices.id();
    const name = this.#random.oneOf(WORKERS);
    const life = this.#model.lives.get(name);
    const call = () => this.#router.assign(id, name);
    if (!life) {
      strictEqual(codeOf(call), 'ERR_KVIDX_UNKNOWN_WORKER');
      return;
    }
    const request = this.#model.touch(id);
    if (request?.phase !== 'routed') {
      strictEqual(codeOf(call), 'ERR_KVIDX_OUT_OF_RANGE');
      return;
    }
    if (life.status !== 'up') {
      strictEqual(codeOf(call), 'ERR_KVIDX_NO_WORKERS');
      this.#judge.met('assign: not up');
      return;
    }
    const decision = call();
    strictEqual(decision.migrated, false);
    this.#judge.checkDecision(decision, request, request.session, [life]);
    this.#place(request, decision);
  }

  #place(request: Request, decision: Decision): void {
    this.#model.place(request, decision, this.#recordsAtRoute);
  }

  // ---------------------------------------------------------------------------------------------------------- hooks

  #dispatch(): void {
    const id = this.#choices.id();
    const admitted = this.#random.oneOf<AdmittedAs | undefined>([
      undefined,
      undefined,
      'direct',
      'seed',
      'reseed',
      'fallback',
    ]);
    const options = admitted === undefined ? undefined : { admitted };
    const counted = this.#model.onDispatch(id, admitted);
    strictEqual(this.#router.onDispatch(id, options), counted, 'onDispatch');
    this.#judge.met(`onDispatch: ${counted}`);
  }

  #hook(): void {
    const id = this.#choices.id();
    const hook = this.#random.oneOf(HOOKS);
    const counted = this.#model[hook](id);
    strictEqual(this.#router[hook](id), counted, hook);
    this.#judge.met(`${hook}: ${counted}`);
  }

  #whenPrefilled(): void {
    const id = this.#choices.id();
    this.#model.whenPrefilled(id);
    this.#router.whenPrefilled(id, () => {
      this.#told += 1;
    });
  }

  // ---------------------------------------------------------------------------------------------------- maintenance

  #endSession(): void {
    const name = this.#choices.session();
    if (name === undefined) return;
    const owned = this.#model.endSession(name);
    const answer = this.#router.endSession(name);
    if (!this.#bounded) strictEqual(answer, owned, 'owned blocks');
    this.#judge.met('endSession');
  }

  #expire(): void {
    const nowMs = Math.max(0, this.#model.nowMs + this.#random.between(-200, 1_500));
    if (this.#model.ownsTooLongAgo(nowMs)) return;
    this.#model.expire(nowMs);
    this.#router.expire(nowMs);
    this.#judge.met('expire');
  }

  #changeWorkers(): void {
    const random = this.#random;
    const name = random.oneOf(WORKERS);
    const life = this.#model.lives.get(name);
    if (!life || random.below(10) < 6) {
      const residency = life?.residency ?? random.oneOf(RESIDENCIES);
      this.#judge.met(life ? `addWorker: ${life.status} before` : 'addWorker: new');
      this.#model.join(name, residency);
      this.#router.addWorker(name, { residency, capacity: this.#bounded ? 20 : 1_000_000 });
      return;
    }
    const how = random.oneOf(['drain', 'fail', 'remove'] as const);
    if (how === 'drain') {
      if (life.status === 'up') life.status = 'draining';
      this.#router.drainWorker(name);
      return;
    }
    const lost = this.#model[how](name);
    const answer = how === 'fail' ? this.#router.failWorker(name) : this.#router.removeWorker(name);
    deepStrictEqual([...answer].sort(), [...lost].sort(), 'lost requests');
    this.#judge.met(lost.length > 0 ? `${how}: with requests` : `${how}: idle`);
  }

  /** An engine tells what it holds. */
  #feed(): void {
    const life = this.#model.lives.get(this.#random.oneOf(WORKERS));
    if (!life || life.residency === 'estimate') return;
    const { seqHashes } = this.#choices.request();
    const { index } = this.#router;
    index.store(index.addWorker(life.name), seqHashes);
    const fed = this.#model.fed.get(life.name) ?? new Set();
    for (const hash of seqHashes) fed.add(hash);
    this.#model.fed.set(life.name, fed);
  }

  #wrongCall(): void {
    const [name, code, call] = this.#random.oneOf(WRONG_CALLS);
    const anyId = this.#model.requests.keys().next().value;
    strictEqual(
      codeOf(() => call(this.#router, anyId)),
      code,
      name,
    );
  }
}
