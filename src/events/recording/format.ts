import { decode, encode } from '@msgpack/msgpack';
import { KvidxError } from '../../errors.js';
import { checkBytes, checkInteger, checkName, checkTime } from '../../validate.js';
import type { RecordedMessage } from './types.js';

/*
 * A recording is msgpack values one after the other: first the map { format, version }, then an array a message,
 *
 *   [worker: str, dpRank: int, sequence: int, receivedMs: int or float, payload: bin]
 *
 * of one rank of one worker in order and none twice: a number that does not rise begins a new life of the engine.
 */

const FORMAT = 'kvidx-events';
const VERSION = 1;
const MAX_DP_RANK = 65_535;

/** Of a whole record. */
export const MAX_RECORD_BYTES = 64 * 2 ** 20;
/** Of a record beside worker and payload: headers and numbers of 9 bytes at most. */
const OTHER_BYTES = 64;

/** What is wrong with a record, said without the file. */
export class RecordProblem extends Error {}

export function encodeHead(): Uint8Array {
  return encode({ format: FORMAT, version: VERSION });
}

/** Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
export function encodeRecord(message: RecordedMessage): Uint8Array {
  const { worker, dpRank, sequence, receivedMs, payload } = checkMessage(message);
  checkInteger('bytes of a payload', payload.length, 0, MAX_RECORD_BYTES - OTHER_BYTES - 3 * worker.length);
  return encode([worker, dpRank, sequence, receivedMs, payload]);
}

/** `bytes`: one value, passed by `neededBytes`. Throws RecordProblem. */
export function checkHead(bytes: Uint8Array): void {
  const { format, version } = decodeValue(bytes) as { format?: unknown; version?: unknown };
  if (format !== FORMAT) throw new RecordProblem(`it does not begin with the format "${FORMAT}"`);
  if (version !== VERSION)
    throw new RecordProblem(`it is of version ${JSON.stringify(version)}, this kvidx reads ${VERSION}`);
}

/** `bytes`: one value, passed by `neededBytes`. Throws RecordProblem. */
export function decodeRecord(bytes: Uint8Array): RecordedMessage {
  const value = decodeValue(bytes);
  if (!Array.isArray(value) || value.length !== 5) throw new RecordProblem('no array of 5 items');
  const [worker, dpRank, sequence, receivedMs, payload] = value;
  try {
    return checkMessage({ worker, dpRank, sequence, receivedMs, payload });
  } catch (error) {
    throw new RecordProblem((error as Error).message);
  }
}

/** Values here hold no others but scalars and are whole, so that decoding takes no more memory than they do. */
function decodeValue(bytes: Uint8Array): unknown {
  try {
    return decode(bytes);
  } catch (error) {
    throw new RecordProblem((error as Error).message);
  }
}

function checkMessage(message: RecordedMessage): RecordedMessage {
  checkName('worker', message.worker);
  checkInteger('dpRank', message.dpRank, 0, MAX_DP_RANK);
  checkInteger('sequence', message.sequence, 0, Number.MAX_SAFE_INTEGER);
  checkTime('receivedMs', message.receivedMs);
  checkBytes(message.payload, 'payload');
  return message;
}

export function badRecording(problem: string, cause?: unknown): KvidxError {
  return new KvidxError('ERR_KVIDX_BAD_RECORDING', problem, cause === undefined ? undefined : { cause });
}
