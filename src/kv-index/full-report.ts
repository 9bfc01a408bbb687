import { invalidArgType } from '../errors.js';
import { PARENT } from '../native/seam.js';
import { checkHashes } from '../validate.js';
import { checkParent } from './options.js';
import type { ReportedChain } from './types.js';

/** The chains of a full report, one after the other, as the seam takes them. */
export interface FlatReport {
  readonly seq: BigUint64Array;
  readonly lengths: Uint32Array;
  /** PARENT of each chain. */
  readonly kinds: Uint8Array;
  /** Where the kind is PARENT.hash. */
  readonly parents: BigUint64Array;
}

/**
 * Checks and copies a report. All chains are read before the first is checked: a getter among them may run any code, also
 * on an array that was read before.
 */
export function flattenReport(chains: readonly ReportedChain[]): FlatReport {
  if (!Array.isArray(chains)) throw invalidArgType('chains', 'an array of {seq, parent}', chains);
  const read: ReportedChain[] = [];
  for (let i = 0; i < chains.length; i++) read.push(readChain(chains[i], `chains[${i}]`));
  const checked = read.map((chain, i) => ({
    seq: checkHashes(chain.seq, `chains[${i}].seq`),
    parent: checkParent(chain.parent, `chains[${i}].parent`),
  }));

  const lengths = Uint32Array.from(checked, ({ seq }) => seq.length);
  const kinds = Uint8Array.from(checked, ({ parent }) => kindOf(parent));
  const parents = BigUint64Array.from(checked, ({ parent }) => parent ?? 0n);
  const seq = new BigUint64Array(checked.reduce((sum, chain) => sum + chain.seq.length, 0));
  let at = 0;
  for (const chain of checked) {
    seq.set(chain.seq, at);
    at += chain.seq.length;
  }
  return { seq, lengths, kinds, parents };
}

function readChain(chain: ReportedChain | undefined, what: string): ReportedChain {
  if (typeof chain !== 'object' || chain === null)
    throw invalidArgType(what, 'an object {seq, parent}', chain);
  const { seq, parent } = chain;
  return { seq, parent };
}

function kindOf(parent: bigint | null | undefined): number {
  if (parent === undefined) return PARENT.root;
  return parent === null ? PARENT.unknown : PARENT.hash;
}

/** The first chain that a bounded worker refuses, and its parent. */
export function firstWithParent({ lengths, kinds, parents }: FlatReport) {
  const chain = kinds.findIndex((kind, i) => kind !== PARENT.root && lengths[i]! > 0);
  return { chain, parent: kinds[chain] === PARENT.hash ? parents[chain] : 'unknown' };
}
