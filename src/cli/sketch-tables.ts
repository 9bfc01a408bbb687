import { counted, grouped } from '../text.js';
import { bar, percent } from './format.js';
import { printable } from './printable.js';
import type { SketchBuilt } from './run-sketch-build.js';
import type { SketchInspection, TestedHashes } from './sketch-inspection.js';
import { table } from './table.js';

const HEAD = ['sketch', 'value', 'definition'] as const;
const RATE_OF_BITS = 'of these very bits';
const EXACT_BYTES_A_BLOCK = 8;
const BAR_CELLS = 40;
const MOST_HASHES_LISTED = 20;

const KINDS: Record<SketchInspection['kind'], string> = {
  full: 'a full frame: it replaces whatever was there',
  delta: 'a delta frame: blocks that replace those of the frame before',
  clear: 'a clear frame: nothing is resident',
  parquet: 'a Bloom filter as Parquet files hold them',
};

/** What `kvidx sketch build` did, for people. */
export function buildTable(built: SketchBuilt): string {
  const { out, format, blocks, blocks_named, z, bytes, target_fpp, actual_fpp } = built;
  const what = format === 'frame' ? 'a full sketch frame' : KINDS.parquet;
  const rows = [
    ...wholeRows(built),
    ['blocks', grouped(blocks), blocks === blocks_named ? '' : `different ones of ${grouped(blocks_named)}`],
    filterRow(z, blocks),
    bytesRow(bytes, blocks),
    ['target rate', rate(target_fpp), 'of false positives, as sized for'],
    ['actual rate', rate(actual_fpp), RATE_OF_BITS],
  ];
  return `${out === '-' ? 'standard output' : out}: ${what}\n${table(HEAD, rows)}\n`;
}

/** The whole answer of `kvidx sketch inspect` for people. */
export function inspectTables(shown: SketchInspection, tested: TestedHashes | null): string {
  const parts = [
    `${shown.file === '-' ? 'standard input' : shown.file}: ${KINDS[shown.kind]}`,
    table(HEAD, [...wholeRows(shown), ...ageRows(shown), ...filterRows(shown)]),
    ...fillPicture(shown),
    ...(tested === null ? [] : testedParts(tested)),
  ];
  return `${parts.join('\n')}\n`;
}

/** Whose it is: nothing, of a Parquet filter. */
function wholeRows({
  worker,
  session,
  block_size,
}: Pick<SketchInspection, 'worker' | 'session' | 'block_size'>): string[][] {
  if (worker === null || block_size === null) return [];
  const of = session === null ? 'all that it holds' : 'of one session alone';
  const rows = [['worker', printable(worker), of]];
  if (session !== null) rows.push(['session', printable(session), '']);
  return [...rows, ['block size', counted(block_size, 'token'), '']];
}

function ageRows({ epoch, sequence, built_at, timestamp_ms, age_ms }: SketchInspection): string[][] {
  if (epoch === null || sequence === null || timestamp_ms === null || age_ms === null) return [];
  return [
    ['epoch', String(epoch), 'the higher, the later'],
    ['sequence', grouped(sequence), 'of the frame within the epoch'],
    ['built', built_at ?? `${grouped(timestamp_ms)} ms`, `${age(age_ms)} by its own clock`],
  ];
}

function filterRows(shown: SketchInspection): string[][] {
  const { kind, blocks, estimated_blocks, z, sent_z, target_fpp, share_of_bits_set, expected_fpp } = shown;
  const known = blocks ?? estimated_blocks;
  const rows: string[][] = [];
  if (blocks !== null) rows.push(['blocks', grouped(blocks), 'that are in the filter']);
  else if (known !== null) rows.push(['blocks', `~ ${grouped(known)}`, 'estimated by the set bits']);
  rows.push(filterRow(z, known));
  if (kind === 'delta') rows.push(['changed', `${grouped(sent_z)} × 256 bits`, 'are in the frame']);
  rows.push(bytesRow(shown.bytes, known));
  if (target_fpp !== null) rows.push(['target rate', rate(target_fpp), 'of false positives, as sized for']);
  if (share_of_bits_set !== null) {
    rows.push(['bits set', percent(share_of_bits_set), kind === 'delta' ? 'of the changed blocks' : '']);
  }
  if (expected_fpp !== null) {
    rows.push(
      ['expected rate', rate(expected_fpp), RATE_OF_BITS],
      ['inflation', inflation(shown.expected_inflation), 'mean excess of an overlap'],
    );
  }
  const { checksum } = shown;
  rows.push([
    'checksum',
    checksum ?? 'none',
    checksum === null ? 'damage cannot be told' : 'XXH64; it matches',
  ]);
  return rows;
}

function filterRow(z: number, keys: number | null): string[] {
  const each = keys ? `${((256 * z) / keys).toFixed(2)} bits a block` : '';
  return ['filter', `${grouped(z)} × 256 bits`, each];
}

function bytesRow(bytes: number, blocks: number | null): string[] {
  const each = blocks
    ? `${(bytes / blocks).toFixed(2)} a block; exact hashes: ${EXACT_BYTES_A_BLOCK}`
    : 'of the file';
  return ['bytes', grouped(bytes), each];
}

function inflation(blocks: number | null): string {
  return blocks === null ? 'no end' : `${Number(blocks.toPrecision(3))} blocks`;
}

/** How the set bits are spread over the blocks of 256: those that got many keys are full, and answer yes too often. */
function fillPicture({ fill }: SketchInspection): string[] {
  if (fill.length === 0) return [];
  const most = Math.max(...fill.map(({ blocks }) => blocks));
  const rows = fill.map(({ from, to, blocks }) => [
    from === to ? `${from}` : `${from} … ${to}`,
    grouped(blocks),
    bar(blocks / most, BAR_CELLS),
  ]);
  return [table(['bits set', 'blocks of 256 bits', ''], rows)];
}

function testedParts({
  hashes,
  answers,
  positive,
  overlap_blocks,
  expected_inflation,
}: TestedHashes): string[] {
  const rows = Array.from(hashes.subarray(0, MOST_HASHES_LISTED), (hash, i) => [
    String(hash),
    ...(answers[i] === 1 ? ['yes', 'may be resident'] : ['no', 'is certainly not']),
  ]);
  const more = hashes.length - rows.length;
  const tooLong = Number(expected_inflation.toPrecision(2));
  return [
    table(['hash tested', 'answer', ''], rows),
    ...(more === 0 ? [] : [`and ${grouped(more)} more (--json has them all)`]),
    `${grouped(positive)} of ${grouped(hashes.length)} test positive. Leading overlap: ${counted(overlap_blocks, 'block')}, ` +
      `of which ${tooLong} at most are an error on average.`,
  ];
}

/** Three digits: rates are as small as 0.0001 %. */
function rate(p: number): string {
  return `${Number((100 * p).toPrecision(3))} %`;
}

const SPANS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

function age(ms: number): string {
  const [unit, length] = SPANS.find(([, span]) => Math.abs(ms) >= span) ?? ['ms', 1];
  const much = unit === 'ms' ? `${Math.abs(ms)} ms` : counted(Math.floor(Math.abs(ms) / length), unit);
  return ms < 0 ? `${much} from now` : `${much} ago`;
}
