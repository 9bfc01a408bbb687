export {
  type AdmitAnswer,
  type AdmitQuestion,
  admit,
} from './admit.js';
export { Candidates, type CandidatesOptions, candidatesFrom, type WorkerFeatures } from './candidates.js';
export type { Counts, Policy, RankedCandidate, RankedKey, Ranking } from './policy/policy.js';
export { Router } from './router.js';
export type {
  AdmittedAs,
  CandidateExplanation,
  Decision,
  DispatchedOptions,
  IgnoredHooks,
  MigrationOptions,
  Residency,
  RouteExplanation,
  RouteRequest,
  RouterOptions,
  RouterStats,
  RouterWorkerOptions,
  RouterWorkerStats,
  WorkerStatus,
} from './types.js';
