import { BlockHasher, DEFAULT_BLOCK_SIZE } from '../src/hash/block-hasher.js';
import { SessionHasher } from '../src/hash/session-hasher.js';
import { Router } from '../src/routing/router.js';
import { type Prompts, turnByTurn } from './prompts.js';
import { Random } from './random.js';

/** Requests that are under way while the router is fed: fewer than sessions, whose next turn comes after the last one. */
const IN_FLIGHT = 100;
/** Requests that stay under way, a worker. */
const LOAD = 4;
/** Between two requests. */
const STEP_MS = 20;

/** A session and its next prompt, of which some worker holds all but the end. */
export interface Conversation {
  readonly session: string;
  readonly tokens: Uint32Array;
  /** Of all `tokens`. */
  readonly seqHashes: BigUint64Array;
  readonly knownTokens: number;
  readonly knownBlocks: number;
  /** Those of `tokens` that are new. */
  readonly appended: Uint32Array;
  readonly hasher: SessionHasher;
}

export interface ConversationsOptions {
  readonly sessions: number;
  /** Of each prompt. */
  readonly blocks: number;
  /** Blocks that all prompts begin with. */
  readonly shared: number;
  /** Tokens of each prompt that are new. */
  readonly appended: number;
}

export function makeConversations(options: ConversationsOptions): Conversation[] {
  const random = new Random(23);
  const head = random.tokens(options.shared * DEFAULT_BLOCK_SIZE);
  return Array.from({ length: options.sessions }, (_, i) => {
    const tokens = random.tokens(options.blocks * DEFAULT_BLOCK_SIZE);
    tokens.set(head);
    return conversation(`session-${i}`, tokens, options.appended);
  });
}

/** The same session with the first blocks of its prompt. */
export function shortened({ session, tokens, appended }: Conversation, blocks: number): Conversation {
  return conversation(session, tokens.subarray(0, blocks * DEFAULT_BLOCK_SIZE), appended.length);
}

function conversation(session: string, tokens: Uint32Array, appended: number): Conversation {
  const blockHasher = new BlockHasher();
  const knownTokens = tokens.length - appended;
  return {
    session,
    tokens,
    seqHashes: blockHasher.seqHashes(tokens),
    knownTokens,
    knownBlocks: Math.floor(knownTokens / DEFAULT_BLOCK_SIZE),
    appended: tokens.subarray(knownTokens),
    hasher: new SessionHasher(blockHasher),
  };
}

/** Lets the session's hasher hold what is known. */
export function rewind({ hasher, tokens, knownTokens }: Conversation): void {
  const kept = hasher.truncate(Math.min(hasher.tokens, knownTokens));
  hasher.append(tokens.subarray(kept, knownTokens));
}

export interface FleetOptions {
  readonly workers: number;
  /** Blocks that all prompts begin with. */
  readonly shared: number;
}

/** As the benches of the index take them. */
export function promptsOf(sessions: readonly BigUint64Array[], { workers, shared }: FleetOptions): Prompts {
  const blocks = sessions.reduce((sum, { length }) => sum + length - shared, shared);
  return { slots: workers, shared, sessions, blocks };
}

export interface RouterFleet {
  readonly router: Router;
  readonly conversations: readonly Conversation[];
  /** Where each conversation was served last: an index of the workers, which are in order of slots too. */
  readonly homes: readonly number[];
}

/**
 * A router with the default policy and its own estimates of what the workers hold, fed by its hooks alone: first what is
 * known of each conversation, turn by turn and interleaved, then requests of other sessions, which stay under way. Its
 * clock is made up, so that every run places the sessions alike.
 */
export function feedRouter(conversations: readonly Conversation[], options: FleetOptions): RouterFleet {
  const { workers, shared } = options;
  let nowMs = 0;
  const router = new Router({ now: () => nowMs });
  for (let worker = 0; worker < workers; worker++) router.addWorker(`${worker}`);

  const homes = conversations.map(() => -1);
  const underWay: string[] = [];
  const finish = (id: string) => {
    router.onFirstToken(id);
    router.onFinish(id);
  };
  const sessions = conversations.map(({ seqHashes, knownBlocks }) => seqHashes.subarray(0, knownBlocks));
  for (const { session, to } of turnByTurn(promptsOf(sessions, options))) {
    nowMs += STEP_MS;
    const { requestId, worker } = router.route({
      session: conversations[session]!.session,
      seqHashes: sessions[session]!.subarray(0, to),
    });
    router.onDispatch(requestId);
    homes[session] = Number(worker);
    if (underWay.push(requestId) > IN_FLIGHT) finish(underWay.shift()!);
  }
  underWay.forEach(finish);
  loadWorkers(router, sessions[0]!.subarray(0, shared));
  return { router, conversations, homes };
}

/** As many requests without a session on each worker, some of them past their prefill. */
function loadWorkers(router: Router, head: BigUint64Array): void {
  const random = new Random(29);
  for (const { name } of router.workers()) {
    for (let i = 0; i < LOAD; i++) {
      const seqHashes = random.hashes(head.length + (random.u32() % 512));
      seqHashes.set(head);
      const { requestId } = router.route({ seqHashes });
      router.assign(requestId, name);
      router.onDispatch(requestId);
      if (random.u32() % 2 === 0) router.onFirstToken(requestId);
    }
  }
}
