import { EventMemory, PLACE } from '../native/event-memory.js';
import { EVENT, EVENT_KIND, EVENT_PLACES, type EventSeam } from '../native/seam.js';
import { MAX_DEPTH, MsgpackReader, UNUSUAL } from './msgpack-reader.js';

const MAX_I32 = 0x7fff_ffff;
const MAX_U32 = 0xffff_ffff;

const STORED_ITEMS = [
  'type',
  'block_hashes',
  'parent_block_hash',
  'token_ids',
  'block_size',
  'lora_id',
  'medium',
  'lora_name',
  'extra_keys',
  'group_idx',
  'kv_cache_spec_kind',
  'kv_cache_spec_sliding_window',
];
const REMOVED_ITEMS = ['type', 'block_hashes', 'medium', 'group_idx'];
const CLEARED_ITEMS = ['type'];

const KINDS = new Map<string, { readonly kind: number; readonly items: readonly string[] }>([
  ['BlockStored', { kind: EVENT_KIND.stored, items: STORED_ITEMS }],
  ['BlockRemoved', { kind: EVENT_KIND.removed, items: REMOVED_ITEMS }],
  ['AllBlocksCleared', { kind: EVENT_KIND.cleared, items: CLEARED_ITEMS }],
]);
const FIELDS = new Set([...STORED_ITEMS, 'cache_salt']);
/** Names that mean something to the general decoder, or that it refuses. */
const ODD_NAMES = new Set([
  'base_block_idx',
  'event_type',
  'seq_hashes',
  'parent_hash',
  'additional_salt',
  '__proto__',
]);

/** The twin of `native/core/event_batch.cpp`; what is usual stands in its header. */
export const readEvents: EventSeam['readEvents'] = (payload, memory) => {
  try {
    new BatchReader(payload, EventMemory.over(memory)).read();
    return true;
  } catch (error) {
    if (error !== UNUSUAL) throw error;
    return false;
  }
};

class BatchReader extends MsgpackReader {
  private hashCount = 0;
  private tokenCount = 0;
  private readonly row = new Int32Array(EVENT.tier);
  private readonly seen = new Set<string>();

  constructor(
    bytes: Uint8Array,
    private readonly memory: EventMemory,
  ) {
    super(bytes);
  }

  read(): void {
    this.require(this.bytes.length <= MAX_I32);
    const items = this.array();
    this.require(items >= 2);
    const time = this.seconds();
    this.require(Number.isFinite(time * 1000));
    const events = this.array();
    for (let i = 0; i < events; i++) this.event(i);
    const rank = items === 2 || this.nil() ? -1 : this.natural(MAX_I32);
    for (let i = 3; i < items; i++) this.pass(MAX_DEPTH);
    this.require(this.left === 0);
    const { memory } = this;
    memory.time = time;
    memory.integers[PLACE.rank] = rank;
    memory.integers[PLACE.events] = events;
    memory.integers[PLACE.hashes] = this.hashCount;
    memory.integers[PLACE.tokens] = this.tokenCount;
  }

  private seconds(): number {
    const type = this.bytes[this.at]!;
    if (type === 0xcb) return this.view.getFloat64(this.take(9) + 1);
    if (type === 0xca) return this.view.getFloat32(this.take(5) + 1);
    return Number(this.integer());
  }

  private event(index: number): void {
    const { at: begin, hashCount, tokenCount, row } = this;
    row.fill(0);
    row[EVENT.hashAt] = hashCount;
    row[EVENT.tokenAt] = tokenCount;
    row[EVENT.parentAt] = -1;
    row[EVENT.group] = -1;
    let places = row.length;
    try {
      this.usualEvent();
    } catch (error) {
      if (error !== UNUSUAL) throw error;
      this.at = begin;
      this.hashCount = hashCount;
      this.tokenCount = tokenCount;
      this.pass(MAX_DEPTH);
      row[EVENT.kind] = EVENT_KIND.odd;
      places = EVENT.end + 1;
    }
    row[EVENT.begin] = begin;
    row[EVENT.end] = this.at;
    const place = index * EVENT_PLACES;
    if (place + EVENT_PLACES <= this.memory.rows.length) this.memory.rows.set(row.subarray(0, places), place);
  }

  private usualEvent(): void {
    const { row, seen } = this;
    seen.clear();
    if (this.isArrayNext()) this.arrayEvent();
    else this.mapEvent();
    const kind = row[EVENT.kind];
    this.require(seen.has('type') && (kind === EVENT_KIND.cleared || seen.has('block_hashes')));
    if (kind === EVENT_KIND.removed) for (const name of seen) this.require(REMOVED_ITEMS.includes(name));
    if (kind === EVENT_KIND.cleared) this.require(seen.size === 1);
    const tokens = row[EVENT.tokens]!;
    this.require(tokens === 0 || row[EVENT.blocks]! * row[EVENT.blockSize]! === tokens);
  }

  private arrayEvent(): void {
    const items = this.array();
    this.require(items > 0);
    const names = this.field('type') ?? [];
    for (let i = 1; i < items; i++) this.field(names[i]);
  }

  private mapEvent(): void {
    const items = this.map();
    for (let i = 0; i < items; i += 2) {
      const name = this.string();
      this.require(!ODD_NAMES.has(name));
      this.field(FIELDS.has(name) ? name : undefined);
    }
  }

  /** Reads the value of a field, or passes it when it has no name. Answers, of a type, the names of an array's items. */
  private field(name: string | undefined): readonly string[] | undefined {
    if (name === undefined) {
      this.isPlain = true;
      this.pass(MAX_DEPTH - 1);
      this.require(this.isPlain);
      return undefined;
    }
    this.require(!this.seen.has(name));
    this.seen.add(name);
    if (name === 'type') return this.tag();
    if (name === 'block_hashes') this.blockHashes();
    else if (!this.nil()) this.optionalField(name);
    return undefined;
  }

  private optionalField(name: string): void {
    const { row } = this;
    switch (name) {
      case 'parent_block_hash':
        row[EVENT.parentAt] = this.hashCount;
        this.hash();
        break;
      case 'token_ids':
        this.tokenIds();
        break;
      case 'block_size':
        row[EVENT.blockSize] = this.natural(MAX_I32);
        break;
      case 'medium':
        this.range(EVENT.mediumBegin);
        break;
      case 'lora_name':
      case 'cache_salt':
        this.require(this.text() === this.at);
        break;
      case 'extra_keys':
        for (let i = this.array(); i > 0; i--) this.require(this.nil());
        break;
      case 'group_idx':
        row[EVENT.group] = this.natural(MAX_I32);
        break;
      case 'kv_cache_spec_kind':
        this.range(EVENT.specBegin);
        break;
      case 'kv_cache_spec_sliding_window':
        this.natural(MAX_U32);
        break;
      default: // lora_id
        throw UNUSUAL;
    }
  }

  private tag(): readonly string[] {
    const known = KINDS.get(this.string());
    if (known === undefined) throw UNUSUAL;
    this.row[EVENT.kind] = known.kind;
    return known.items;
  }

  private blockHashes(): void {
    const count = this.array();
    this.row[EVENT.blocks] = count;
    this.row[EVENT.hashAt] = this.hashCount;
    for (let i = 0; i < count; i++) this.hash();
  }

  /** What an array has no place for it leaves out by itself. */
  private hash(): void {
    this.memory.hashes[this.hashCount] = this.isBinaryNext()
      ? this.digestTail()
      : BigInt.asUintN(64, BigInt(this.integer()));
    this.hashCount++;
  }

  private digestTail(): bigint {
    const size = this.binary();
    this.require(size === 8 || size === 16 || size === 32);
    return this.view.getBigUint64(this.at - 8);
  }

  private tokenIds(): void {
    const count = this.array();
    this.row[EVENT.tokens] = count;
    this.row[EVENT.tokenAt] = this.tokenCount;
    for (let i = 0; i < count; i++) this.memory.tokens[this.tokenCount++] = this.natural(MAX_U32);
  }

  private range(place: number): void {
    const begin = this.text();
    if (begin === this.at) return;
    this.row[place] = begin;
    this.row[place + 1] = this.at;
  }
}
