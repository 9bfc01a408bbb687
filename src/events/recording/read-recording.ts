import { type ByteProgress, readBytes } from '../../byte-source.js';
import { invalidArgType } from '../../errors.js';
import { checkFunction, checkOptions } from '../../validate.js';
import { badRecording, checkHead, decodeRecord, RecordProblem } from './format.js';
import { RecordSplitter } from './record-splitter.js';
import type { RecordedMessage } from './types.js';

export interface ReadRecordingOptions {
  /** Told after every chunk: bytes of the file (compressed where it is) read so far, and in all (undefined for a pipe). */
  readonly onProgress?: ByteProgress;
  /**
   * Told in the end where the last record is not whole, as its recorder was killed; those before it stand. Default: an
   * error as of any other damage.
   */
  readonly onCut?: (error: Error) => void;
}

/**
 * The messages of a recording, as EventRecorder writes them: a file, plain or gzip (found out from the content), or `-` for
 * standard input. Memory: one record of at most 64 MiB and a chunk.
 *
 * ERR_KVIDX_BAD_RECORDING names file and record (the first message is 1): no such file, no recording, another version,
 * damage; the messages before it were good. ERR_KVIDX_INVALID_ARG_TYPE.
 */
export async function* readRecording(
  path: string,
  options?: ReadRecordingOptions,
): AsyncGenerator<RecordedMessage> {
  if (typeof path !== 'string') throw invalidArgType('path', 'a string', path);
  const { onProgress = () => {}, onCut } = checkOptions<ReadRecordingOptions>(options);
  checkFunction('onProgress', onProgress);
  if (onCut !== undefined) checkFunction('onCut', onCut);
  const splitter = new RecordSplitter();
  /** Of the record that is read; 0: what the file begins with. */
  let record = 0;
  try {
    for await (const chunk of readBytes(path, onProgress, { takesCut: true })) {
      for (const bytes of splitter.push(chunk)) {
        if (record === 0) checkHead(bytes);
        else yield decodeRecord(bytes);
        record++;
      }
    }
  } catch (error) {
    throw explain(error, path, record);
  }
  if (record > 0 && splitter.rest === 0) return;
  const cut = badRecording(`${whereIn(path, record)}: ${cutText(splitter.rest)}`);
  if (record === 0 || onCut === undefined) throw cut;
  onCut(cut);
}

function cutText(rest: number): string {
  return rest === 0 ? 'the file is empty' : `cut after ${rest} bytes (was its recorder killed?)`;
}

function explain(error: unknown, path: string, record: number): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const bad = (problem: string) => badRecording(`${whereIn(path, record)}: ${problem}`, error);
  if (error instanceof RecordProblem) {
    return bad(record === 0 ? `no recording that can be read: ${message}` : message);
  }
  if (code?.startsWith('Z_')) return bad(`the gzip data is damaged: ${message}`);
  const file = nameOf(path);
  if (code === 'ENOENT') return badRecording(`${file}: no such file`, error);
  if (code === 'EISDIR') return badRecording(`${file}: this is a directory; give a recording`, error);
  if (syscall !== undefined) return badRecording(`${file}: cannot be read: ${message}`, error);
  return error;
}

function whereIn(path: string, record: number): string {
  return record === 0 ? nameOf(path) : `${nameOf(path)}: record ${record}`;
}

function nameOf(path: string): string {
  return path === '-' ? 'standard input' : path;
}
