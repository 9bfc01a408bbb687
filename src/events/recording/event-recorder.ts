import { createWriteStream, type WriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { constants, createGzip, type Gzip } from 'node:zlib';
import { invalidArgType, KvidxError } from '../../errors.js';
import { guarded } from '../../guarded.js';
import { checkFunction, checkOptions } from '../../validate.js';
import type { StreamEffect, StreamSink } from '../stream/types.js';
import { badRecording, encodeHead, encodeRecord } from './format.js';
import type { RecordedMessage } from './types.js';

/** Messages that wait for the disk, in bytes; beyond it nothing can be recorded whole. */
const MAX_WAITING_BYTES = 256 * 2 ** 20;
/** What a recorder that is killed may lose of a compressed file. */
const FLUSH_MS = 1000;

const TAKEN: StreamEffect = { isDamaged: false, isCleared: false };
const NOT_TAKEN: StreamEffect = { isDamaged: true, isCleared: false };

export interface EventRecorderOptions {
  /** Told once, when the file can take no more: the disk is full, or too slow, or a message too long for a record. */
  readonly onError?: (error: Error) => void;
}

/**
 * Writes messages to a file, which is gzip where its name ends with `.gz` and replaces one that is there. What is in the
 * file is whole records, of which a kill may cut the last one. As a sink of streams it records messages in order and none
 * twice; a new life of an engine begins with a number that does not rise.
 */
export class EventRecorder {
  readonly path: string;
  readonly #file: WriteStream;
  readonly #gzip: Gzip | undefined;
  readonly #onError: (error: Error) => void;
  readonly #written: Promise<void>;
  readonly #flushTimer: NodeJS.Timeout | undefined;
  #isFlushed = true;
  #messages = 0;
  #failure: KvidxError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(path: string, file: WriteStream, onError: (error: Error) => void) {
    this.path = path;
    this.#file = file;
    this.#onError = onError;
    this.#gzip = path.endsWith('.gz') ? createGzip() : undefined;
    if (this.#gzip === undefined) this.#written = finished(file);
    else {
      this.#written = pipeline(this.#gzip, file);
      this.#flushTimer = setInterval(() => this.#flush(), FLUSH_MS).unref();
    }
    this.#written.catch((error) => this.#fail(error.message, error));
    this.#out.write(encodeHead());
  }

  /** Rejects with ERR_KVIDX_BAD_RECORDING (the file cannot be opened) or ERR_KVIDX_INVALID_ARG_TYPE. */
  static async open(path: string, options?: EventRecorderOptions): Promise<EventRecorder> {
    if (typeof path !== 'string') throw invalidArgType('path', 'a string', path);
    const { onError } = checkOptions<EventRecorderOptions>(options);
    if (onError !== undefined) checkFunction('onError', onError);
    try {
      const handle = await open(path, 'w');
      return new EventRecorder(path, createWriteStream(path, { fd: handle }), guarded(onError));
    } catch (error) {
      throw badRecording(`cannot write ${path}: ${(error as Error).message}`, error);
    }
  }

  /** Recorded so far. */
  get messages(): number {
    return this.#messages;
  }

  /** In the file so far. */
  get bytes(): number {
    return this.#file.bytesWritten;
  }

  /**
   * Records a message, which is copied. Throws ERR_KVIDX_INVALID_ARG_TYPE, ERR_KVIDX_OUT_OF_RANGE (a record has at most
   * 64 MiB), ERR_KVIDX_CLOSED, or ERR_KVIDX_BAD_RECORDING: the file can take no more.
   */
  write(message: RecordedMessage): void {
    if (this.#closing !== undefined) throw new KvidxError('ERR_KVIDX_CLOSED', 'the recorder is closed');
    if (this.#failure !== undefined) throw this.#failure;
    this.#out.write(encodeRecord(message));
    this.#isFlushed = false;
    this.#messages++;
    if (this.#out.writableLength + this.#file.writableLength <= MAX_WAITING_BYTES) return;
    this.#fail(`it does not keep up: ${MAX_WAITING_BYTES} bytes wait for it`);
  }

  /** Where a transport hands on the messages of one stream of a worker. */
  sink(worker: string, dpRank: number): StreamSink {
    return {
      apply: ({ sequence, receivedMs, payload }) => {
        if (this.#closing !== undefined || this.#failure !== undefined) return NOT_TAKEN;
        try {
          this.write({ worker, dpRank, sequence, receivedMs, payload });
          return TAKEN;
        } catch (error) {
          this.#fail((error as Error).message, error);
          return NOT_TAKEN;
        }
      },
      restarted: () => {},
      degraded: () => {},
    };
  }

  /** Resolves when all is in the file; rejects with ERR_KVIDX_BAD_RECORDING where it cannot take all. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearInterval(this.#flushTimer);
    this.#out.end();
    await this.#written.catch(() => {});
    if (this.#failure !== undefined) throw this.#failure;
  }

  get #out(): Writable {
    return this.#gzip ?? this.#file;
  }

  #flush(): void {
    if (this.#isFlushed) return;
    this.#isFlushed = true;
    this.#gzip?.flush(constants.Z_SYNC_FLUSH);
  }

  #fail(problem: string, cause?: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = badRecording(`cannot write ${this.path}: ${problem}`, cause);
    this.#onError(this.#failure);
  }
}
