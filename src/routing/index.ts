export {
  type AdmitAnswer,
  type AdmitFigures,
  type AdmitLimits,
  type AdmitQuestion,
  type AdmitReason,
  type AdmittedAnswer,
  admit,
  type RefusedAnswer,
} from './admit.js';
export { Candidates, type CandidatesOptions, candidatesFrom, type WorkerFeatures } from './candidates.js';
export type { BackoffOptions } from './dispatch/backoff.js';
export type { Clock } from './dispatch/clock.js';
export { Dispatcher } from './dispatch/dispatcher.js';
export type {
  AdmissionReply,
  AdmissionRequest,
  Attempt,
  Dispatched,
  DispatcherOptions,
  DispatcherStats,
  DispatchRequest,
  DispatchRouter,
  RefusalKind,
  SeedCounts,
} from './dispatch/types.js';
export type { PolicyKind, PolicyOption } from './policy/kind.js';
export type { Counts, Policy, RankedCandidate, RankedKey, Ranking } from './policy/policy.js';
export { policyKinds } from './policy/registry.js';
export { createPolicy, type PolicySpec } from './policy/spec.js';
export { Router } from './router.js';
export type {
  AdmittedAs,
  CandidateExplanation,
  Decision,
  DispatchedOptions,
  IgnoredHooks,
  MigrationOptions,
  RerouteOptions,
  Residency,
  RouteExplanation,
  RouteRequest,
  RouterOptions,
  RouterSketchOptions,
  RouterStats,
  RouterWorkerOptions,
  RouterWorkerStats,
  SessionSketchTold,
  SketchNote,
  WorkerStatus,
} from './types.js';
