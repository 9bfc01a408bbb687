import { EVENT, EVENT_KIND, EVENT_PLACES, type EventColumns } from '../../native/seam.js';
import { decodeEventBytes } from '../decode-batch.js';
import { EventProblem } from '../fields.js';
import type { BadEvent, KvEvent } from '../types.js';
import type { AttentionGroups } from './attention-groups.js';
import type { EventReader, ReadBatch } from './event-reader.js';
import type { TierPlaces } from './mediums.js';
import { OtherBlockSize } from './other-block-size.js';
import type { Tally } from './tally.js';
import { type TypedStep, typedStep } from './typed-step.js';

/*
 * Where each event of a batch goes, before any is applied: a batch with blocks of another size than the index has is
 * refused as a whole.
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

export interface Plan {
  /** Rows are applied to the tier that stands in them. Undefined: all events are typed. */
  readonly columns: EventColumns | undefined;
  readonly events: number;
  /** Events that are applied one by one, by their place; undefined: left out. */
  readonly typed: ReadonlyMap<number, TypedStep | undefined>;
  /** A bit for each tier that is needed. */
  readonly tiers: number;
  readonly bad: readonly BadEvent[];
  readonly isCleared: boolean;
}

const NO_TIER = -1;

export class Planner {
  readonly #context: PlanContext;
  readonly #tally: Tally;
  readonly #typed = new Map<number, TypedStep | undefined>();
  readonly #bad: BadEvent[] = [];
  #tiers = 0;
  #isCleared = false;

  constructor(context: PlanContext, tally: Tally) {
    this.#context = context;
    this.#tally = tally;
  }

  /** ERR_KVIDX_BLOCK_SIZE. */
  planColumns(reader: EventReader, batch: ReadBatch): Plan {
    const { columns, events, payload } = batch;
    const { rows } = columns;
    for (let i = 0, at = 0; i < events; i++, at += EVENT_PLACES) {
      const kind = rows[at + EVENT.kind]!;
      if (kind === EVENT_KIND.odd) {
        const bytes = payload.subarray(rows[at + EVENT.begin]!, rows[at + EVENT.end]!);
        this.#planOne(i, () => decodeEventBytes(bytes));
      } else if (kind === EVENT_KIND.cleared) {
        rows[at + EVENT.tier] = this.cleared();
      } else {
        const medium = reader.text(batch, i, EVENT.mediumBegin);
        const group = rows[at + EVENT.group]!;
        if (kind === EVENT_KIND.removed) {
          rows[at + EVENT.tier] = this.removed(medium, group);
        } else {
          const spec = reader.text(batch, i, EVENT.specBegin);
          const blockSize = rows[at + EVENT.tokens] === 0 ? undefined : rows[at + EVENT.blockSize]!;
          rows[at + EVENT.tier] = this.stored(medium, group, spec, blockSize);
        }
      }
    }
    return this.#plan(columns, events);
  }

  /** ERR_KVIDX_BLOCK_SIZE. */
  planTyped(events: readonly KvEvent[]): Plan {
    events.forEach((event, i) => {
      this.#planOne(i, () => event);
    });
    return this.#plan(undefined, events.length);
  }

  // Of one event: the place of its tier, or NO_TIER.

  cleared(): number {
    this.#isCleared = true;
    return 0;
  }

  removed(medium: string | undefined, group: number): number {
    if (this.#context.groups.isMain(group)) return this.#tierOf(medium);
    this.#tally.otherGroups++;
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
      this.#tally.otherGroups++;
      return NO_TIER;
    }
    if (blockSize !== undefined && blockSize !== own) throw new OtherBlockSize(blockSize, own);
    return this.#tierOf(medium);
  }

  #tierOf(medium: string | undefined): number {
    const tier = this.#context.tiers.get(medium ?? 'GPU');
    if (tier === undefined) {
      this.#context.refuseMedium(medium!);
      this.#tally.unknownMediums++;
      return NO_TIER;
    }
    this.#tiers |= 1 << tier;
    return tier;
  }

  #planOne(index: number, decode: () => KvEvent | undefined): void {
    try {
      const event = decode();
      if (event === undefined) this.#tally.unknownTags++;
      this.#typed.set(index, event && typedStep(event, this, this.#context));
    } catch (error) {
      if (!(error instanceof EventProblem)) throw error;
      this.#typed.set(index, undefined);
      this.#bad.push({ index, problem: error.message });
    }
  }

  #plan(columns: EventColumns | undefined, events: number): Plan {
    return {
      columns,
      events,
      typed: this.#typed,
      tiers: this.#tiers,
      bad: this.#bad,
      isCleared: this.#isCleared,
    };
  }
}
