/*
 * What `kvidx apc` is measured against, a program of its own: the same bound in plain JavaScript, written
 * straightforwardly. The whole file in memory, JSON.parse, one trie of nested Maps for all sessions and one for each. (Its
 * ids are doubles, so it suits traces whose ids stay below 2^53.)
 *
 *   node dist/bench/plain-apc.js trace.jsonl.gz 64
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

interface Row {
  readonly session_id?: string;
  readonly input_length: number;
  readonly hash_ids: readonly number[];
}

interface Trie extends Map<number, Trie> {}

/** What it prints: the figures' names are those of kvidx. */
export interface PlainOutput {
  readonly n_requests: number;
  readonly total_input_tokens: number;
  readonly apc_upper_any_session: number;
  readonly apc_upper_intra_session: number | null;
  readonly cached_tokens_any_session: number;
  readonly cached_tokens_intra_session: number | null;
  /** From the parsed rows on. */
  readonly counting_ms: number;
}

const [path, blockSizeText] = process.argv.slice(2);
const blockSize = Number(blockSizeText);

const bytes = readFileSync(path!);
const text = (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString('latin1');
const rows: Row[] = text
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line));

/** Leading ids that the trie holds; afterwards it holds them all. */
function hitsAndInsert(trie: Trie, ids: readonly number[]): number {
  let node = trie;
  let hits = 0;
  for (; hits < ids.length; hits++) {
    const next = node.get(ids[hits]!);
    if (next === undefined) break;
    node = next;
  }
  for (let i = hits; i < ids.length; i++) {
    const next: Trie = new Map();
    node.set(ids[i]!, next);
    node = next;
  }
  return hits;
}

const started = performance.now();
const all: Trie = new Map();
const bySession = new Map<string, Trie>();
let inputTokens = 0;
let cachedAny = 0;
let cachedIntra = 0;
for (const { session_id: session, input_length: input, hash_ids: ids } of rows) {
  inputTokens += input;
  cachedAny += Math.min(hitsAndInsert(all, ids) * blockSize, input);
  if (session === undefined) continue;
  let trie = bySession.get(session);
  if (trie === undefined) {
    trie = new Map();
    bySession.set(session, trie);
  }
  cachedIntra += Math.min(hitsAndInsert(trie, ids) * blockSize, input);
}
const countingMs = performance.now() - started;

const named = bySession.size > 0;
const result: PlainOutput = {
  n_requests: rows.length,
  total_input_tokens: inputTokens,
  apc_upper_any_session: cachedAny / inputTokens,
  apc_upper_intra_session: named ? cachedIntra / inputTokens : null,
  cached_tokens_any_session: cachedAny,
  cached_tokens_intra_session: named ? cachedIntra : null,
  counting_ms: countingMs,
};
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
