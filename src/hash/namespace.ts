import { outOfRange } from '../errors.js';
import { seam } from '../native/index.js';
import { checkName, checkOptions } from '../validate.js';

/**
 * What separates prompts with equal tokens: hashes of different namespaces never meet. A field that is undefined or
 * null is absent.
 */
export interface Namespace {
  /** Model name. */
  readonly model?: string | null | undefined;
  /** LoRA adapter. */
  readonly lora?: string | null | undefined;
  /** Cache salt. */
  readonly salt?: string | null | undefined;
  readonly tenant?: string | null | undefined;
}

/** Fields in the order of their tags, which start at 1. */
const FIELDS: readonly (keyof Namespace)[] = ['model', 'lora', 'salt', 'tenant'];

/**
 * The bytes of a namespace in scheme xxh64-v1: for each present field u8 tag (model 1, lora 2, salt 3, tenant 4) ‖
 * u32le(byte length) ‖ UTF-8 bytes. Throws ERR_KVIDX_INVALID_ARG_TYPE (not an object, a field that is no string) or
 * ERR_KVIDX_OUT_OF_RANGE (unknown field, empty string, ill-formed UTF-16).
 */
export function encodeNamespace(namespace: Namespace): Uint8Array {
  checkOptions(namespace, 'namespace');
  for (const field of Object.keys(namespace)) {
    if (!(FIELDS as readonly string[]).includes(field)) {
      throw outOfRange('a field of namespace', `one of ${FIELDS.join(', ')}`, field);
    }
  }
  const parts = FIELDS.map((field, i) => encodeField(i + 1, field, namespace[field]));
  return Buffer.concat(parts);
}

/**
 * The hash before a first block: XXH64 of the encoded namespace, 0n when it is empty. Throws as `encodeNamespace`.
 */
export function namespaceRoot(namespace: Namespace): bigint {
  const bytes = encodeNamespace(namespace);
  return bytes.length === 0 ? 0n : seam.xxh64(bytes, 0n);
}

function encodeField(tag: number, field: string, value: string | null | undefined): Uint8Array {
  if (value === undefined || value === null) return new Uint8Array(0);
  const text = Buffer.from(checkName(`namespace.${field}`, value), 'utf8');
  const head = Buffer.alloc(5);
  head.writeUInt8(tag, 0);
  head.writeUInt32LE(text.length, 1);
  return Buffer.concat([head, text]);
}
