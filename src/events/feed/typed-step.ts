import { flattenExtraKeys } from '../../hash/extra-keys.js';
import { EventMemory } from '../../native/event-memory.js';
import { EVENT, EVENT_KIND, type FlatExtraKeys } from '../../native/seam.js';
import type { KvEvent, StoredEvent } from '../types.js';
import { blockExtras } from './block-extras.js';
import type { PlanContext, Planner } from './plan.js';

/** One event in a memory of its own, with the extra keys that it has no place for. */
export interface TypedStep {
  readonly memory: EventMemory;
  readonly root: bigint;
  readonly extra: FlatExtraKeys | undefined;
}

const NO_TOKENS = new Uint32Array(0);
const NO_HASHES = new BigUint64Array(0);

/** Undefined: left out. Throws EventProblem. */
export function typedStep(event: KvEvent, planner: Planner, context: PlanContext): TypedStep | undefined {
  if (event.kind === 'stored') return storedStep(event, planner, context);
  if (event.kind === 'cleared') {
    planner.cleared();
    return clearStep();
  }
  const { blockHashes, medium, groupIdx = -1 } = event;
  const tier = planner.removed(medium, groupIdx);
  return tier < 0 ? undefined : step(EVENT_KIND.removed, tier, blockHashes, blockHashes.length);
}

export function clearStep(): TypedStep {
  return step(EVENT_KIND.cleared, 0, NO_HASHES, 0);
}

function storedStep(event: StoredEvent, planner: Planner, context: PlanContext): TypedStep | undefined {
  const { blockHashes, parentHash, medium, groupIdx = -1, specKind } = event;
  const tokens = plainTokens(event);
  const tier = planner.stored(
    medium,
    groupIdx,
    specKind,
    tokens && blockSizeOf(event, tokens, context.blockSize),
  );
  if (tier < 0) return undefined;
  if (tokens === undefined) return step(EVENT_KIND.stored, tier, blockHashes, blockHashes.length);

  const { blockSize } = context;
  const blocks = Math.floor(tokens.length / blockSize);
  planner.partial(blockHashes.length - blocks);
  if (blocks === 0) return undefined;
  const { salt, extraKeys } = blockExtras(event);
  const lora = event.loraName ?? loraOf(event.loraId, context.loraNames);
  const hashes = parentHash === undefined ? blockHashes : withParent(blockHashes, parentHash);
  return {
    ...step(EVENT_KIND.stored, tier, hashes, blocks, {
      parentAt: parentHash === undefined ? -1 : blockHashes.length,
      tokens: tokens.subarray(0, blocks * blockSize),
    }),
    root: context.rootOf(lora, salt),
    extra: flattenExtraKeys(
      extraKeys && new Map([...extraKeys].filter(([block]) => block < blocks)),
      0,
      blocks,
    ),
  };
}

/**
 * Of pairs of neighbours each block's own tokens. That a last block also depends on the token ahead of it is left out, so
 * that a prompt which goes on otherwise counts up to one block too many.
 */
function plainTokens({ tokens, isBigram }: StoredEvent): Uint32Array | undefined {
  return isBigram ? tokens?.subarray(0, -1) : tokens;
}

/** A block that stands alone tells no size, and may be partial. */
function blockSizeOf({ blockSize }: StoredEvent, tokens: Uint32Array, own: number): number {
  return blockSize ?? Math.max(tokens.length, own);
}

function loraOf(id: number | undefined, names: Readonly<Record<number, string>>): string | undefined {
  // Adapters are numbered from 1.
  return id === undefined || id === 0 ? undefined : (names[id] ?? String(id));
}

function withParent(blockHashes: BigUint64Array, parentHash: bigint): BigUint64Array {
  const hashes = new BigUint64Array(blockHashes.length + 1);
  hashes.set(blockHashes);
  hashes[blockHashes.length] = parentHash;
  return hashes;
}

function step(
  kind: number,
  tier: number,
  hashes: BigUint64Array,
  blocks: number,
  { parentAt = -1, tokens = NO_TOKENS }: { parentAt?: number; tokens?: Uint32Array } = {},
): TypedStep {
  const memory = EventMemory.of({ events: 1, hashes: hashes.length, tokens: tokens.length });
  const { rows } = memory;
  rows[EVENT.kind] = kind;
  rows[EVENT.tier] = tier;
  rows[EVENT.blocks] = blocks;
  rows[EVENT.parentAt] = parentAt;
  rows[EVENT.tokens] = tokens.length;
  rows[EVENT.group] = -1;
  memory.hashes.set(hashes);
  memory.tokens.set(tokens);
  return { memory, root: 0n, extra: undefined };
}
