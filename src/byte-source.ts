import { type FileHandle, open } from 'node:fs/promises';
import { pipeline, type Readable } from 'node:stream';
import { constants, createGunzip } from 'node:zlib';

const CHUNK_BYTES = 256 * 1024;

export type ByteProgress = (bytes: number, totalBytes: number | undefined) => void;

export interface ReadBytesOptions {
  /** Of gzip data that ends too early, as its writer was killed, the bytes that are there, and no error. Default false. */
  readonly takesCut?: boolean;
}

/**
 * The bytes of a file, or of standard input for `-`, unpacked where they are gzip. That is known by the magic bytes,
 * not by the name. Unpacking runs off this thread, one chunk ahead of the reader. A chunk is the receiver's own.
 */
export async function* readBytes(
  path: string,
  onProgress: ByteProgress,
  { takesCut = false }: ReadBytesOptions = {},
): AsyncGenerator<Buffer> {
  const raw = rawBytes(path, onProgress);
  const head = await firstBytes(raw);
  const whole = prefixed(head, raw);
  if (!(head[0] === 0x1f && head[1] === 0x8b)) {
    yield* whole;
    return;
  }
  const gunzip = createGunzip({
    chunkSize: CHUNK_BYTES,
    finishFlush: takesCut ? constants.Z_SYNC_FLUSH : constants.Z_FINISH,
  });
  pipeline(whole, gunzip, () => {}); // an error of either side destroys `gunzip`, which throws it below
  yield* gunzip as AsyncIterable<Buffer>;
}

async function* rawBytes(path: string, onProgress: ByteProgress): AsyncGenerator<Buffer> {
  let stream: Readable = process.stdin;
  let totalBytes: number | undefined;
  if (path !== '-') {
    const file = await open(path);
    totalBytes = await sizeOf(file);
    stream = file.createReadStream({ highWaterMark: CHUNK_BYTES });
  }
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    onProgress(bytes, totalBytes);
    yield chunk;
  }
}

/** Undefined for what has no size of its own, such as a named pipe. */
async function sizeOf(file: FileHandle): Promise<number | undefined> {
  const stats = await file.stat();
  return stats.isFile() ? stats.size : undefined;
}

/** A pipe may deliver single bytes: at least the two magic ones, where there are so many. */
async function firstBytes(source: AsyncGenerator<Buffer>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 2) {
    const { value, done } = await source.next();
    if (done) break;
    head = head.length === 0 ? value : Buffer.concat([head, value]);
  }
  return head;
}

async function* prefixed(head: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head;
    yield* rest;
  } finally {
    await rest.return(undefined); // closes the file also when the reader stops at the head
  }
}
