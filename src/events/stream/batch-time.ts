/**
 * When an engine made a batch, in its own clock: the first item of the msgpack array (vLLM, kv_events.py `EventBatch.ts`,
 * which SGLang and TensorRT-LLM share). Undefined: the payload begins with no array of a number.
 */
export function batchTime(payload: Uint8Array): number | undefined {
  const at = itemsAt(payload[0]);
  if (at === undefined) return undefined;
  const tag = payload[at]!;
  if (tag <= 0x7f) return tag;
  if (tag >= 0xe0) return tag - 0x100;
  const read = READERS[tag];
  if (read === undefined || payload.length < at + 1 + read.bytes) return undefined;
  return read.value(new DataView(payload.buffer, payload.byteOffset + at + 1, read.bytes));
}

function itemsAt(tag: number | undefined): number | undefined {
  if (tag === undefined) return undefined;
  if (tag > 0x90 && tag <= 0x9f) return 1;
  if (tag === 0xdc) return 3;
  return tag === 0xdd ? 5 : undefined;
}

const READERS: Record<number, { readonly bytes: number; readonly value: (view: DataView) => number }> = {
  202: { bytes: 4, value: (view) => view.getFloat32(0) },
  203: { bytes: 8, value: (view) => view.getFloat64(0) },
  204: { bytes: 1, value: (view) => view.getUint8(0) },
  205: { bytes: 2, value: (view) => view.getUint16(0) },
  206: { bytes: 4, value: (view) => view.getUint32(0) },
  207: { bytes: 8, value: (view) => Number(view.getBigUint64(0)) },
  208: { bytes: 1, value: (view) => view.getInt8(0) },
  209: { bytes: 2, value: (view) => view.getInt16(0) },
  210: { bytes: 4, value: (view) => view.getInt32(0) },
  211: { bytes: 8, value: (view) => Number(view.getBigInt64(0)) },
};
