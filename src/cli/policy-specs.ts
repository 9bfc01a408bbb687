import { InvalidArgumentError } from 'commander';
import { hasKvidxCode } from '../errors.js';
import { createPolicy } from '../routing/policy/spec.js';

/** Specs for `--policies`, with commas between them; each must make a policy. */
export function policySpecs(text: string): string[] {
  const specs = text.split(',').map((part) => part.trim());
  if (specs.includes('')) {
    throw new InvalidArgumentError(
      'An empty policy was given: commas stand between policies, as in lpwl,sticky.',
    );
  }
  for (const spec of specs) {
    try {
      createPolicy(spec);
    } catch (error) {
      throw hasKvidxCode(error) ? new InvalidArgumentError(error.message) : error;
    }
  }
  return specs;
}
