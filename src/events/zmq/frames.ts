/*
 * What engines send over ZeroMQ (vllm/distributed/kv_events.py, ZmqEventPublisher):
 *
 *   live     topic │ u64 big-endian sequence │ payload
 *   request  empty │ u64 big-endian sequence to begin from
 *   replay   empty │ [topic │] sequence │ payload          the topic since vLLM 45177, and of TensorRT-LLM; SGLang has none
 *   its end  the same with sequence 2^64 − 1, whatever the payload
 */

/** NaN: no 8 bytes. Beyond 2^53 − 1 it is rounded, and no safe integer. */
function sequenceOf(frame: Uint8Array): number {
  if (frame.length !== 8) return Number.NaN;
  const view = new DataView(frame.buffer, frame.byteOffset, 8);
  return view.getUint32(0) * 2 ** 32 + view.getUint32(4);
}

const END = Buffer.alloc(8, 0xff);
const NOTHING = Buffer.alloc(0);

export interface NumberedPayload {
  /** No safe integer: there is none that could be read. */
  readonly sequence: number;
  readonly payload: Uint8Array;
}

/** Undefined: these are no three frames. */
export function readLive(frames: readonly Buffer[]): NumberedPayload | undefined {
  const [, sequence, payload] = frames;
  if (frames.length !== 3 || sequence === undefined || payload === undefined) return undefined;
  return { sequence: sequenceOf(sequence), payload };
}

/** Either layout: the payload is last, the sequence before it. */
export function readReplay(frames: readonly Buffer[]): NumberedPayload | 'end' | undefined {
  const [sequence, payload] = frames.slice(-2);
  if (sequence === undefined || payload === undefined) return undefined;
  return sequence.equals(END) ? 'end' : { sequence: sequenceOf(sequence), payload };
}

export function replayRequest(from: number): Buffer[] {
  const sequence = Buffer.alloc(8);
  sequence.writeBigUInt64BE(BigInt(from));
  return [NOTHING, sequence];
}
