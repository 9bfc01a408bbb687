import type { PolicyDefinition, PolicyKind } from './kind.js';
import { kvAware } from './kv-aware.js';
import { lmetric } from './lmetric.js';
import { loadOnly } from './load-only.js';
import { lpwl } from './lpwl.js';
import { lpwlKappa } from './lpwl-kappa.js';
import { random } from './random.js';
import { roundRobin } from './round-robin.js';
import { sticky } from './sticky.js';
import { unified } from './unified.js';

export const POLICIES: readonly PolicyDefinition[] = [
  kvAware,
  lpwl,
  lpwlKappa,
  lmetric,
  loadOnly,
  sticky,
  unified,
  roundRobin,
  random,
];

/** All policies that `createPolicy` knows, with their options. */
export const policyKinds: readonly PolicyKind[] = POLICIES;
