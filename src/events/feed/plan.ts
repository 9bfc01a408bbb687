import { PLACE } from '../../native/event-memory.js';
import { EVENT, EVENT_KIND, EVENT_PLACES } from '../../native/seam.js';
import { decodeEventBytes } from '../decode-batch.js';
import { EventProblem } from '../fields.js';
import type { BadEvent, KvEvent } from '../types.js';
import type { AttentionGroups } from './attention-groups.js';
import type { EventReader } from './event-reader.js';
import type { TierPlaces } from './mediums.js';
import type { Tally } from './tally.js';
import { type TypedStep, typedStep } from './typed-step.js';

/*
 * Where each event of a batch goes, before any is applied.
 */

/** What decides it, of one rank. */
export interface PlanContext {
  readonly blockSize: number;
  readonly groups: AttentionGroups;
  readonly tiers: TierPlaces;
  /** Of a store: the root of its chain, if it begins one. */
  readonly rootOf: (lora: string | undefined, salt: string | undefined) => bigint;
  readonly loraNames: Readonly<Record<number, string>>;
  /** Told of media without a tier. */
  readonly refuseMedium: (medium: string) => void;
}

/** Events that are applied one by one, by their place in the message; undefined: left out. */
export type TypedSteps = ReadonlyMap<number, TypedStep | undefined>;

const NO_STEPS: TypedSteps = new Map();
const NO_TIER = -1;

/** Plans one message after the other, of one rank. What it leaves out is counted in the message's tally. */
export class Planner {
  readonly #context: PlanContext;
  #message: Tally | undefined;
  #steps: Map<number, TypedStep | undefined> | undefined;
  #bad: BadEvent[] | undefined;
  /** A bit for each tier that the message needs. */
  tiers = 0;
  // Where the last event went: most go to the same tier.
  #medium: string | undefined;
  #tier = NO_TIER;

  constructor(context: PlanContext) {
    this.#context = context;
  }

  #begin(message: Tally, events: number): void {
    this.#message = message;
    this.#steps = undefined;
    this.#bad = undefined;
    this.tiers = 0;
    message.events = events;
  }

  #end(message: Tally): TypedSteps {
    if (this.#bad) message.bad = this.#bad;
    return this.#steps ?? NO_STEPS;
  }

  /** Writes into each row that was read where it goes. */
  planRead(message: Tally, reader: EventReader): TypedSteps {
    const { memory } = reader;
    const { rows } = memory;
    const events = memory.integers[PLACE.events]!;
    this.#begin(message, events);
    for (let i = 0, at = 0; i < events; i++, at += EVENT_PLACES) {
      const kind = rows[at + EVENT.kind]!;
      if (kind === EVENT_KIND.odd) {
        const bytes = reader.bytes(at + EVENT.begin);
        this.#planOne(i, () => decodeEventBytes(bytes));
      } else if (kind === EVENT_KIND.cleared) {
        rows[at + EVENT.tier] = this.cleared();
      } else {
        const medium = reader.text(at + EVENT.mediumBegin);
        const group = rows[at + EVENT.group]!;
        if (kind === EVENT_KIND.removed) {
          rows[at + EVENT.tier] = this.removed(medium, group);
        } else {
          const spec = reader.text(at + EVENT.specBegin);
          const blockSize = rows[at + EVENT.tokens] === 0 ? undefined : rows[at + EVENT.blockSize]!;
          rows[at + EVENT.tier] = this.stored(medium, group, spec, blockSize);
        }
      }
    }
    return this.#end(message);
  }

  planTyped(message: Tally, events: readonly KvEvent[]): TypedSteps {
    this.#begin(message, events.length);
    events.forEach((event, i) => {
      this.#planOne(i, () => event);
    });
    return this.#end(message);
  }

  // Of one event: the place of its tier, or NO_TIER.

  cleared(): number {
    this.#message!.isCleared = true;
    return 0;
  }

  removed(medium: string | undefined, group: number): number {
    if (this.#context.groups.isMain(group)) return this.#tierOf(medium);
    this.#message!.otherGroups++;
    return NO_TIER;
  }

  /** `blockSize` undefined: without tokens, or of an engine that does not tell it. */
  stored(
    medium: string | undefined,
    group: number,
    spec: string | undefined,
    blockSize: number | undefined,
  ): number {
    const { groups, blockSize: own } = this.#context;
    if (!groups.learn(group, spec)) {
      this.#message!.otherGroups++;
      return NO_TIER;
    }
    if (blockSize !== undefined && blockSize !== own) {
      this.#message!.otherBlockSize = blockSize;
      this.#message!.otherBlockSizes++;
      return NO_TIER;
    }
    return this.#tierOf(medium);
  }

  /** Blocks of a store that have no seq hash, as they are not full. */
  partial(blocks: number): void {
    this.#message!.partialBlocks += blocks;
  }

  #tierOf(medium: string | undefined): number {
    if (medium !== this.#medium || this.#tier === NO_TIER) {
      const tier = this.#context.tiers.get(medium ?? 'GPU');
      if (tier === undefined) {
        this.#context.refuseMedium(medium!);
        this.#message!.unknownMediums++;
        return NO_TIER;
      }
      this.#medium = medium;
      this.#tier = tier;
    }
    this.tiers |= 1 << this.#tier;
    return this.#tier;
  }

  #planOne(index: number, decode: () => KvEvent | undefined): void {
    this.#steps ??= new Map();
    try {
      const event = decode();
      if (event === undefined) this.#message!.unknownTags++;
      this.#steps.set(index, event && typedStep(event, this, this.#context));
    } catch (error) {
      if (!(error instanceof EventProblem)) throw error;
      this.#steps.set(index, undefined);
      this.#bad ??= [];
      this.#bad.push({ index, problem: error.message });
    }
  }
}
