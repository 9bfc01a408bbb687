import type { ApcResult } from '../analysis/request-log.js';
import type { Decision } from '../routing/types.js';
import type { PolicyResult } from './types.js';

/** What one policy did, worker by worker. */
export class PolicyTally {
  private readonly requests: number[];
  private readonly tokens: number[];
  private readonly newTokens: number[];
  private cachedTokens = 0;

  constructor(workers: number) {
    this.requests = new Array(workers).fill(0);
    this.tokens = new Array(workers).fill(0);
    this.newTokens = new Array(workers).fill(0);
  }

  add(worker: number, { cachedTokens, newTokens }: Decision): void {
    this.requests[worker]! += 1;
    this.tokens[worker]! += cachedTokens + newTokens;
    this.newTokens[worker]! += newTokens;
    this.cachedTokens += cachedTokens;
  }

  /** `bound`: of the same rows. */
  result(policy: string, bound: ApcResult): PolicyResult {
    const { n_requests, total_input_tokens, apc_upper_any_session } = bound;
    const apc = total_input_tokens === 0 ? 0 : this.cachedTokens / total_input_tokens;
    return {
      policy,
      requests_per_worker: this.requests,
      tokens_per_worker: this.tokens,
      new_tokens_per_worker: this.newTokens,
      cached_tokens: this.cachedTokens,
      apc,
      share_of_bound: apc_upper_any_session === 0 ? null : apc / apc_upper_any_session,
      balance: (Math.max(...this.requests) * this.requests.length) / n_requests,
    };
  }
}
