import type { CoreIndex } from '../native/seam.js';
import { checkInteger, checkOptions } from '../validate.js';
import { createCore, type IndexSettings, MAX_U32 } from './options.js';
import { decodeSections, encodeSections } from './section-file.js';
import { checkSessionName, SessionTable } from './sessions.js';
import { badSnapshot, type Section, SNAPSHOT } from './snapshot-file.js';
import { checkWorkerName, checkWorkerOptions, type Tier, WorkerHandle, WorkerTable } from './workers.js';

/*
 * The JSON of a snapshot's sections, none of it trusted: a file whose checksums hold may still come from a faulty or
 * malicious writer.
 *
 *   settings  {"blockSize": …, "root": "…"}
 *   workers   [[slot, name, dpRank, tier], …]
 *   sessions  [[name, number], …]
 */

/** What a restore replaces, as one. */
export interface IndexParts {
  readonly core: CoreIndex;
  readonly workers: WorkerTable;
  readonly sessions: SessionTable;
}

type SavedWorker = readonly [slot: number, name: string, dpRank: number, tier: Tier];
type SavedSession = readonly [name: string, number: number];

export function saveParts({ core, workers, sessions }: IndexParts, settings: IndexSettings): Uint8Array {
  const saved = workers
    .handles()
    .map(({ slot, name, dpRank, tier }): SavedWorker => [slot, name, dpRank, tier]);
  return encodeSections(SNAPSHOT, {
    settings: toJson({ blockSize: settings.blockSize, root: String(settings.root) }),
    workers: toJson(saved),
    sessions: toJson([...sessions.entries()]),
    index: core.snapshot(),
  });
}

/** The parts of a saved index. ERR_KVIDX_BAD_SNAPSHOT names the first bad section. */
export function restoreParts(bytes: Uint8Array, settings: IndexSettings): IndexParts {
  const payloads = decodeSections(SNAPSHOT, bytes);
  const read = <T>(section: Section, check: (json: unknown) => T) =>
    inSection(section, () => check(fromJson(payloads[section])));
  read('settings', (json) => checkSettings(json, settings));
  const savedWorkers = read('workers', (json) => checkList(json, 4).map(checkSavedWorker));
  const savedSessions = read('sessions', (json) => checkList(json, 2).map(checkSavedSession));

  const core = createCore(settings);
  try {
    const bad = core.restore(payloads.index);
    if (bad !== '') throw badSnapshot('index', `its part "${bad}" is damaged`);
    const workers = inSection('workers', () => tableOfWorkers(savedWorkers, core));
    const sessions = inSection('sessions', () => tableOfSessions(savedSessions, core));
    endExcessSessions(core, sessions, settings.maxSessions);
    return { core, workers, sessions };
  } catch (error) {
    core.close();
    throw error;
  }
}

/** Whatever `read` throws is a fault of the section. */
function inSection<T>(section: Section, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw badSnapshot(section, (error as Error).message, error);
  }
}

function toJson(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

function fromJson(payload: Uint8Array): unknown {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
}

// ------------------------------------------------------------------------------------------------------- shapes

function checkSettings(json: unknown, settings: IndexSettings): void {
  const { blockSize, root } = checkOptions(json as object, 'the content') as Record<string, unknown>;
  if (blockSize !== settings.blockSize) {
    throw new Error(`its block size is ${JSON.stringify(blockSize)}, this index has ${settings.blockSize}`);
  }
  if (root !== String(settings.root)) throw new Error('its namespace is not that of this index');
}

/** A list of entries of `width` values each. */
function checkList(json: unknown, width: number): unknown[][] {
  if (!Array.isArray(json)) throw new Error('it is no list');
  for (const [i, entry] of json.entries()) {
    if (!Array.isArray(entry) || entry.length !== width) throw new Error(`entry ${i} is no list of ${width}`);
  }
  return json;
}

function checkSavedWorker([slot, name, dpRank, tier]: unknown[]): SavedWorker {
  const options = checkWorkerOptions({ dpRank: dpRank as number, tier: tier as Tier });
  return [checkInteger('slot', slot, 0, MAX_U32), checkWorkerName(name), options.dpRank, options.tier];
}

function checkSavedSession([name, number]: unknown[]): SavedSession {
  return [checkSessionName(name), checkInteger('session number', number, 1, MAX_U32)];
}

// ------------------------------------------------------------------------------------------------------- tables

function tableOfWorkers(saved: readonly SavedWorker[], core: CoreIndex): WorkerTable {
  const slots = saved.map(([slot]) => slot);
  if (!isSameSet(slots, core.slotNumbers())) throw new Error('its slots are not those of the index');
  const table = new WorkerTable();
  for (const [slot, name, dpRank, tier] of saved) {
    if (table.find(name, dpRank, tier))
      throw new Error(`worker ${JSON.stringify([name, dpRank, tier])} twice`);
    table.add(new WorkerHandle(name, dpRank, tier, slot), core.incarnation(slot));
  }
  return table;
}

function tableOfSessions(saved: readonly SavedSession[], core: CoreIndex): SessionTable {
  const numbers = saved.map(([, number]) => number);
  if (!isSameSet(numbers, core.sessionNumbers())) throw new Error('its numbers are not those of the index');
  const table = new SessionTable();
  for (const [name, number] of saved) {
    if (table.numberOf(name) !== 0) throw new Error(`session ${JSON.stringify(name)} twice`);
    table.add(name, number);
  }
  return table;
}

/** `expected` has no number twice, and so has `numbers` when the answer is true. */
function isSameSet(numbers: readonly number[], expected: Uint32Array): boolean {
  if (numbers.length !== expected.length) return false;
  const sorted = expected.slice().sort();
  return Uint32Array.from(numbers)
    .sort()
    .every((number, i) => number === sorted[i]);
}

/** The saved index may have allowed more sessions than the restored one. */
function endExcessSessions(core: CoreIndex, sessions: SessionTable, maxSessions: number): void {
  const numbers = core.sessionNumbers();
  for (const number of numbers.subarray(0, Math.max(0, numbers.length - maxSessions))) {
    core.endSession(number);
    sessions.delete(number);
  }
}
