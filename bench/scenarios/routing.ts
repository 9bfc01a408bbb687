import { createPolicy } from '../../src/routing/policy/spec.js';
import { grouped } from '../../src/text.js';
import { bytesAnOperation } from '../allocation.js';
import {
  appending,
  arrivingAppended,
  arrivingWhole,
  candidatesOf,
  deciding,
  hashing,
  live,
  living,
  rotation,
  routeAppended,
  routeNoBlock,
  routeTokens,
  scoring,
} from '../decisions.js';
import type { Figure } from '../figures.js';
import { runScenario, type ScenarioContext } from '../harness.js';
import { rotating } from '../prompts.js';
import { Race, type Rival } from '../race.js';
import {
  type Conversation,
  feedRouter,
  makeConversations,
  promptsOf,
  type RouterFleet,
  rewind,
  shortened,
} from '../router-fleet.js';

const FLEET = { workers: 64, shared: 500 };
const BLOCKS = { whole: 2818, quick: 800 };
const APPENDED = 500;
/** µs, for all workers. */
const SCORING = { atMost: 5 };
/** Beside the router's own. */
const POLICIES = ['kv-aware:overlap=exclusive', 'lpwl', 'unified'] as const;

const DECISIONS = { tokens: 'from tokens', appended: `${APPENDED} new tokens` } as const;
const PARTS = {
  hash: 'hash',
  append: 'append',
  overlap: 'overlap',
  fair: 'fair overlap',
  exclusive: 'exclusive overlap, where it is asked for',
  scoring: 'scoring',
  noBlock: 'route of a one-token prompt (checks, features, scoring)',
} as const;

type Part = keyof typeof PARTS;

await runScenario('routing', (context) => {
  const { quick, progress } = context;
  progress(`feeding a router of ${FLEET.workers} workers`);
  const conversations = makeConversations({
    sessions: quick ? 128 : 256,
    blocks: quick ? BLOCKS.quick : BLOCKS.whole,
    shared: FLEET.shared,
    appended: APPENDED,
  });
  const fleet = feedRouter(conversations, FLEET);
  assertDecisions(context, fleet);
  progress('deciding, and its parts one by one');
  const figures: Figure[] = [
    { name: 'blocks in the index', value: fleet.router.index.stats().blocks, unit: 'blocks' },
    ...raceDecisions(context, fleet),
  ];
  progress('scoring by other policies, and hooks');
  figures.push(...raceOthers(context, fleet));
  progress('counting bytes');
  figures.push(...countBytes(context, fleet));
  fleet.router.close();
  return figures;
});

function assertDecisions({ check }: ScenarioContext, fleet: RouterFleet): void {
  const { router, conversations, homes } = fleet;
  const right = conversations.every((conversation, i) => {
    rewind(conversation);
    return [routeTokens(router, conversation), routeAppended(router, conversation)].every((decision) => {
      router.onError(decision.requestId);
      return Number(decision.worker) === homes[i] && decision.overlapBlocks === conversation.knownBlocks;
    });
  });
  check(
    `each of ${conversations.length} sessions goes to its own worker, with all but its new tokens cached`,
    right,
  );
  const used = new Set(homes).size;
  check(`${used} of ${FLEET.workers} workers have sessions`, used > FLEET.workers / 2);
  for (const spec of [router.policy.spec, POLICIES[0]]) {
    const policy = createPolicy(spec);
    const candidates = candidatesOf(fleet, policy.counts);
    check(
      `${spec} scores every session's worker highest`,
      candidates.every((each, i) => policy.decide(each) === homes[i]),
    );
  }
}

/** Whole decisions and their parts, in one race. */
function raceDecisions({ quick }: ScenarioContext, fleet: RouterFleet): Figure[] {
  const { router, conversations } = fleet;
  const { index, policy } = router;
  const out = new Uint32Array(index.slotCount);
  const fair = new Float64Array(index.slotCount);
  const prompts = promptsOf(
    conversations.map(({ seqHashes }) => seqHashes),
    FLEET,
  );
  const race = new Race(
    {
      tokens: deciding(fleet, arrivingWhole(conversations), routeTokens),
      appended: deciding(fleet, arrivingAppended(conversations), routeAppended),
      noBlock: deciding(fleet, rotation(conversations), routeNoBlock),
      hash: hashing(fleet),
      append: appending(fleet),
      overlap: rotating(prompts, (seq) => index.overlap(seq, { out })),
      fair: rotating(prompts, (seq) => index.fairOverlap(seq, { out: fair })),
      exclusive: rotating(prompts, (seq, i) =>
        index.exclusiveOverlap(conversations[i]!.session, seq, { out }),
      ),
      scoring: scoring(policy, candidatesOf(fleet, policy.counts)),
    },
    quick ? { rounds: 2, roundMs: 8, samples: 16 } : { rounds: 4, roundMs: 200 },
  );

  const decision = (whole: keyof typeof DECISIONS, parts: readonly Part[]): Figure[] => [
    race.time(whole, `${DECISIONS[whole]}: median`, 'µs'),
    { name: `${DECISIONS[whole]}: p99`, value: race.quantileNs(whole, 0.99) / 1000, unit: 'µs' },
    ...parts.map((part) => {
      const { value, range } = race.ratio(part, whole);
      const name = `${DECISIONS[whole]}: ${PARTS[part]}`;
      return { name, value: 100 * value, unit: '%', range: [100 * range[0], 100 * range[1]] as const };
    }),
  ];
  const time = (part: Part): Figure => race.time(part, PARTS[part], 'µs');
  const both: readonly Part[] = ['overlap', 'fair', 'exclusive', 'scoring', 'noBlock'];
  return [
    ...decision('tokens', ['hash', ...both]),
    ...decision('appended', ['append', ...both]),
    {
      name: 'append ÷ hash',
      unit: 'x',
      ...race.ratio('append', 'hash'),
      target: { atMost: 0.05 },
      better: 'lower',
    },
    time('hash'),
    { name: 'hash: p99', value: race.quantileNs('hash', 0.99) / 1000, unit: 'µs' },
    ...(['append', 'overlap', 'fair', 'exclusive', 'noBlock'] as const).map(time),
    { ...race.time('scoring', `scoring, ${policy.spec}`, 'µs'), target: SCORING },
  ];
}

/** Changes what the workers hold. Comes after the race that other policies must not slow down. */
function raceOthers({ quick }: ScenarioContext, fleet: RouterFleet): Figure[] {
  const score = (spec: (typeof POLICIES)[number]): Rival => {
    const policy = createPolicy(spec);
    return scoring(policy, candidatesOf(fleet, policy.counts));
  };
  const [exclusive, lpwl, unified] = POLICIES;
  const race = new Race(
    {
      [exclusive]: score(exclusive),
      [lpwl]: score(lpwl),
      [unified]: score(unified),
      hooks: living(fleet),
    },
    quick ? { rounds: 2, roundMs: 8, samples: 16 } : { rounds: 3, roundMs: 150 },
  );
  return [
    ...POLICIES.map((spec) => ({ ...race.time(spec, `scoring, ${spec}`, 'µs'), target: SCORING })),
    race.time('hooks', 'dispatch, first token and finish', 'µs/request'),
  ];
}

/** Decisions until their release, for prompts of all blocks and of a tenth of them. Comes last, too. */
function countBytes({ quick }: ScenarioContext, { router, conversations }: RouterFleet): Figure[] {
  const operations = quick ? 24 : 64;
  const long = conversations.slice(0, operations);
  const short = long.map((conversation) =>
    shortened(conversation, Math.floor(conversation.seqHashes.length / 10)),
  );
  const cases: Record<string, (conversation: Conversation) => void> = {
    [DECISIONS.tokens]: (conversation) => router.onError(routeTokens(router, conversation).requestId),
    [DECISIONS.appended]: (conversation) => router.onError(routeAppended(router, conversation).requestId),
    [`${DECISIONS.tokens}, with all hooks`]: (conversation) =>
      live(router, routeTokens(router, conversation)),
  };
  return Object.entries(cases).flatMap(([name, decide]) => {
    const bytes = (of: readonly Conversation[]): number =>
      bytesAnOperation(
        { prepare: () => of.forEach(rewind), run: (i) => decide(of[i]!) },
        { batches: quick ? 7 : 51, operations },
      );
    const [ofLong, ofShort] = [bytes(long), bytes(short)];
    const unit = 'bytes';
    return [
      { name: `${name}: heap, ${grouped(long[0]!.seqHashes.length)} blocks`, value: ofLong, unit },
      { name: `${name}: heap, ${short[0]!.seqHashes.length} blocks`, value: ofShort, unit },
      { name: `${name}: heap, long ÷ short`, value: ofLong / ofShort, unit: 'x', target: { atMost: 1.2 } },
    ];
  });
}
