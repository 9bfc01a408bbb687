import { BlockHasher } from '../src/hash/block-hasher.js';
import { type Candidates, candidatesFrom } from '../src/routing/candidates.js';
import type { Counts, Policy } from '../src/routing/policy/policy.js';
import type { Router } from '../src/routing/router.js';
import type { Decision } from '../src/routing/types.js';
import type { Rival } from './race.js';
import { Random } from './random.js';
import { type Conversation, type RouterFleet, rewind } from './router-fleet.js';

/** Operations in one sample where one alone is too short for the clock. */
const BURST = 8;

// ------------------------------------------------------------------------------------------------------- decisions

export function routeTokens(router: Router, { session, tokens }: Conversation): Decision {
  return router.route({ session, tokens });
}

/** The conversation must be rewound. */
export function routeAppended(router: Router, conversation: Conversation): Decision {
  const { session, tokens, appended, hasher } = conversation;
  hasher.append(appended);
  return router.route({ session, seqHashes: hasher.seqHashes, inputLength: tokens.length });
}

/** Nothing to hash and nothing to ask the index for. */
export function routeNoBlock(router: Router, { session, tokens }: Conversation): Decision {
  return router.route({ session, tokens: tokens.subarray(0, 1) });
}

/** What follows a decision until the request is over. */
export function live(router: Router, { requestId }: Decision): void {
  router.onDispatch(requestId);
  router.onFirstToken(requestId);
  router.onFinish(requestId);
}

// ---------------------------------------------------------------------------------------------------------- rivals

/** A decision for each request that arrives. The next `prepare` releases it, which is not timed. */
export function deciding(
  { router }: RouterFleet,
  arrive: () => Conversation,
  route: (router: Router, conversation: Conversation) => Decision,
): Rival {
  let request: Conversation;
  let decision: Decision | undefined;
  return {
    prepare() {
      if (decision) router.onError(decision.requestId);
      request = arrive();
    },
    run() {
      decision = route(router, request);
    },
  };
}

/** The hooks of one request after another, each of which is routed before, which is not timed. */
export function living({ router, conversations }: RouterFleet): Rival {
  const next = rotation(conversations);
  let decision: Decision;
  return {
    prepare() {
      const { session, seqHashes } = next();
      decision = router.route({ session, seqHashes });
    },
    run: () => live(router, decision),
  };
}

/** All of a prompt, into an array of the caller's. */
export function hashing({ conversations }: RouterFleet): Rival {
  const arrive = arrivingWhole(conversations);
  const hasher = new BlockHasher();
  const out = new BigUint64Array(conversations[0]!.seqHashes.length);
  let request: Conversation;
  return {
    prepare() {
      request = arrive();
    },
    run: () => hasher.seqHashes(request.tokens, { out }),
  };
}

export function appending({ conversations }: RouterFleet): Rival {
  const next = rotation(conversations);
  const burst: Conversation[] = [];
  return {
    operations: BURST,
    prepare() {
      for (let k = 0; k < BURST; k++) burst[k] = next();
      burst.forEach(rewind);
    },
    run() {
      for (const { hasher, appended } of burst) hasher.append(appended);
    },
  };
}

export function scoring(policy: Policy, candidates: readonly Candidates[]): Rival {
  const next = rotation(candidates);
  const burst: Candidates[] = [];
  return {
    operations: BURST,
    prepare() {
      for (let k = 0; k < BURST; k++) burst[k] = next();
    },
    run() {
      for (const each of burst) policy.decide(each);
    },
  };
}

/** What a policy that counts so sees of each conversation. */
export function candidatesOf({ router, conversations, homes }: RouterFleet, counts: Counts): Candidates[] {
  const { index } = router;
  const { workers } = router.stats();
  return conversations.map(({ session, seqHashes, tokens }, i) => {
    const overlap = index.overlap(seqHashes);
    const counted = countedBlocks();
    const features = workers.map((load, slot) => ({
      ...load,
      overlapBlocks: overlap[slot]!,
      counted: counted[slot]!,
    }));
    return candidatesFrom(features, { inputLength: tokens.length, home: homes[i]! });

    function countedBlocks(): Uint32Array | Float64Array {
      const { maxOwners } = counts;
      if (counts.overlap === 'exclusive') return index.exclusiveOverlap(session, seqHashes, { maxOwners });
      if (counts.overlap === 'fair') return index.fairOverlap(seqHashes);
      return index.overlap(seqHashes, { mode: counts.overlap });
    }
  });
}

// -------------------------------------------------------------------------------------------------------- arrivals

/*
 * Conversations one after another, in an order in which neighbours are far apart: what the index, the router and the
 * hasher hold of a session is cold. The tokens that arrive are copied into one array: they were received just now.
 */

export function arrivingWhole(conversations: readonly Conversation[]): () => Conversation {
  const next = rotation(conversations);
  const tokens = new Uint32Array(conversations[0]!.tokens.length);
  return () => {
    const conversation = next();
    tokens.set(conversation.tokens);
    return { ...conversation, tokens };
  };
}

/** Only the new tokens arrive; the conversation is rewound. */
export function arrivingAppended(conversations: readonly Conversation[]): () => Conversation {
  const next = rotation(conversations);
  const appended = new Uint32Array(conversations[0]!.appended.length);
  return () => {
    const conversation = next();
    rewind(conversation);
    appended.set(conversation.appended);
    return { ...conversation, appended };
  };
}

export function rotation<T>(items: readonly T[]): () => T {
  const order = new Random(17).permutation(items.length);
  let at = 0;
  return () => {
    at = at + 1 === order.length ? 0 : at + 1;
    return items[order[at]!]!;
  };
}
