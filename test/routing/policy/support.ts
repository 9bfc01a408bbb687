import {
  type CandidatesOptions,
  candidatesFrom,
  type WorkerFeatures,
} from '../../../src/routing/candidates.js';
import type { Policy, Ranking } from '../../../src/routing/policy/policy.js';
import { createPolicy, type PolicySpec } from '../../../src/routing/policy/spec.js';

type Request = Partial<CandidatesOptions>;

function policyOf(policy: Policy | PolicySpec | string): Policy {
  return isPolicy(policy) ? policy : createPolicy(policy);
}

function isPolicy(policy: Policy | PolicySpec | string): policy is Policy {
  return typeof policy === 'object' && 'decide' in policy;
}

/** The place that a policy, or a new one of this spec, chooses. Prompts have 1,000 tokens unless said otherwise. */
export function decide(
  policy: Policy | PolicySpec | string,
  workers: readonly WorkerFeatures[],
  request: Request = {},
): number {
  return policyOf(policy).decide(candidatesFrom(workers, { inputLength: 1000, ...request }));
}

export function explain(
  policy: Policy | PolicySpec | string,
  workers: readonly WorkerFeatures[],
  request: Request = {},
): Ranking {
  return policyOf(policy).explain(candidatesFrom(workers, { inputLength: 1000, ...request }));
}

/** By place: the value of a key. */
export function valuesOf(ranking: Ranking, key: string): (number | undefined)[] {
  return ranking.candidates.map(({ keys }) => keys.find(({ name }) => name === key)?.value);
}

/** By place: why it lost. */
export function losses(ranking: Ranking): (string | undefined)[] {
  return ranking.candidates.map(({ lost }) => lost);
}
