import { analyzeApc } from '../analysis/apc.js';
import type { ApcResult, ApcRow } from '../analysis/request-log.js';
import { invalidArgType, KvidxError } from '../errors.js';
import { BlockHasher } from '../hash/block-hasher.js';
import type { WorkerHandle } from '../kv-index/index.js';
import type { Policy } from '../routing/policy/policy.js';
import { Router } from '../routing/router.js';
import type { Decision, RouteRequest } from '../routing/types.js';
import { checkRoutable, checkSimOptions } from './options.js';
import { PolicyTally } from './tally.js';
import type { OpenRows, SimOptions, Simulation } from './types.js';

/**
 * Routes a trace under several policies, each with a fleet of its own, where every request finishes before the next is
 * routed, in the order of the rows: no timing, and no load. Caches are unbounded. Ids are chained; a row without a
 * session is a session of its own, and sessions own their blocks to the end.
 *
 * Two passes over the rows: the first finds the block size, the bound and how much there is, the second routes. Ids
 * beyond ⌈input_length / block size⌉, in rows that contradict the block size, are no part of the prompt.
 *
 * Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE for options, before a row is read, and what `analyzeApc`
 * throws; ERR_KVIDX_BAD_TRACE for blocks of more than 4,096 tokens, or when the passes read different rows.
 */
export async function simulateSequential(open: OpenRows, options: SimOptions): Promise<Simulation> {
  if (typeof open !== 'function') throw invalidArgType('open', 'a function that opens the rows', open);
  const { trace, workers, policies, blockSize, onDecision } = checkSimOptions(options);
  const bound = await analyzeApc(open(), { trace, ...(blockSize === undefined ? {} : { blockSize }) });
  checkRoutable(trace, bound.result.block_size);

  const fleets: Fleet[] = [];
  try {
    for (const { given, policy } of policies) fleets.push(new Fleet(given, policy, workers, bound.result));
    const prompts = new Prompts(bound.result.block_size);
    for await (const row of open()) {
      const request = prompts.requestOf(row);
      for (const fleet of fleets) onDecision(fleet.given, fleet.serve(request));
    }
    prompts.checkAgainst(trace, bound.result);
    const rows = fleets.map(({ given, tally }) => tally.result(given, bound.result));
    return { result: { trace, block_size: bound.result.block_size, workers, rows }, bound };
  } finally {
    for (const fleet of fleets) fleet.close();
  }
}

type Prompt = RouteRequest & { readonly seqHashes: BigUint64Array };

/** Makes requests out of rows. */
class Prompts {
  private readonly blockSize: number;
  private readonly hasher: BlockHasher;
  /** Seq hashes of one prompt after the other. */
  private room = new BigUint64Array(1024);
  /** The trace may name a session with any text, a router may not. */
  private readonly sessionNames = new Map<string, string>();
  private requests = 0;
  private inputTokens = 0;

  constructor(blockSize: number) {
    this.blockSize = blockSize;
    this.hasher = new BlockHasher({ blockSize });
  }

  /** Good until the next one is asked for. */
  requestOf({ inputLength, sessionId, hashIds }: ApcRow): Prompt {
    this.requests += 1;
    this.inputTokens += inputLength;
    const blocks = Math.min(hashIds.length, Math.ceil(inputLength / this.blockSize));
    if (blocks > this.room.length) this.room = new BigUint64Array(2 * blocks);
    const out = this.room.subarray(0, blocks);
    const seqHashes = this.hasher.chainHashes(hashIds.subarray(0, blocks), { out });
    return sessionId === undefined
      ? { inputLength, seqHashes }
      : { inputLength, seqHashes, session: this.sessionName(sessionId) };
  }

  /** The bounds of the fleets, and the figures, are those of the first pass. */
  checkAgainst(trace: string, { n_requests, total_input_tokens }: ApcResult): void {
    if (this.requests === n_requests && this.inputTokens === total_input_tokens) return;
    throw new KvidxError(
      'ERR_KVIDX_BAD_TRACE',
      `${trace}: its rows changed between the two passes (${n_requests} rows of ${total_input_tokens} tokens, then ` +
        `${this.requests} of ${this.inputTokens})`,
    );
  }

  private sessionName(given: string): string {
    let name = this.sessionNames.get(given);
    if (name === undefined) {
      name = `session-${this.sessionNames.size}`;
      this.sessionNames.set(given, name);
    }
    return name;
  }
}

/** One policy's router and workers, which hold all that they ever computed. */
class Fleet {
  readonly tally: PolicyTally;
  private readonly router: Router;
  private readonly workers = new Map<string, { readonly place: number; readonly handle: WorkerHandle }>();

  constructor(
    readonly given: string,
    policy: Policy,
    workers: number,
    trace: ApcResult,
  ) {
    this.tally = new PolicyTally(workers);
    // Room for all that the trace names: nothing is ever forgotten. One request is under way at a time.
    this.router = new Router({
      policy,
      blockSize: trace.block_size,
      residency: 'exact',
      partialLastBlock: true,
      maxSessions: trace.n_requests,
      maxBlocks: Math.max(1, trace.unique_blocks),
      maxRequests: 1,
      workHalfLifeMs: Number.POSITIVE_INFINITY,
      now: () => 0,
    });
    for (let place = 0; place < workers; place++) {
      const name = `w${place}`;
      this.router.addWorker(name);
      this.workers.set(name, { place, handle: this.router.index.addWorker(name) });
    }
  }

  /** Routes the request and sees it to its end. */
  serve(request: Prompt): Decision {
    const { router } = this;
    const decision = router.route(request);
    const { place, handle } = this.workers.get(decision.worker)!;
    this.tally.add(place, decision);
    router.onDispatch(decision.requestId);
    router.onFirstToken(decision.requestId);
    router.onFinish(decision.requestId);
    router.index.store(handle, request.seqHashes, { nowMs: 0 });
    return decision;
  }

  close(): void {
    this.router.close();
  }
}
