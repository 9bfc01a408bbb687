import type { RuleSet } from './rule.js';

interface NumberSpec {
  /** Another name for it. */
  readonly alias?: string;
  readonly kind: 'number' | 'integer';
  readonly min: number;
  readonly max: number;
  readonly default: number;
  readonly help: string;
}

interface ChoiceSpec {
  readonly alias?: string;
  readonly kind: 'choice';
  readonly choices: readonly string[];
  readonly default: string;
  readonly help: string;
}

type OptionSpecs = Readonly<Record<string, NumberSpec | ChoiceSpec>>;

/** Values of the options that are specified so. */
type OptionsOf<S extends OptionSpecs> = {
  readonly [Name in keyof S]: S[Name] extends { readonly choices: readonly (infer Choice)[] }
    ? Choice
    : number;
};

/** An option of a policy: a number from `min` to `max`, or one of `choices`. */
export type PolicyOption = { readonly name: string } & (NumberSpec | ChoiceSpec);

/** What `createPolicy` can make: a name, what it does in a sentence, and its options. */
export interface PolicyKind {
  readonly name: string;
  readonly summary: string;
  /**
   * What spreads its requests over workers. `load`: nothing else does, so that of idle workers the cached or first one gets
   * them all. `overlap`: what workers hold, and load on request. `turns`, `draws`: neither.
   */
  readonly spreadsBy: 'load' | 'overlap' | 'turns' | 'draws';
  readonly options: readonly PolicyOption[];
}

export type OptionValues = Readonly<Record<string, number | string>>;

export interface PolicyDefinition extends PolicyKind {
  /** `values`: one for each option. Rule sets keep counters: each policy needs its own. */
  readonly make: (values: OptionValues) => RuleSet;
}

/** The limit of options that scale a block: 2^32 blocks in units of 2^−20 block are still exact. */
export const MAX_FACTOR = 2 ** 32 - 1;

export function definePolicy<const S extends OptionSpecs>(definition: {
  readonly name: string;
  readonly summary: string;
  readonly spreadsBy: PolicyKind['spreadsBy'];
  readonly options: S;
  readonly make: (values: OptionsOf<S>) => RuleSet;
}): PolicyDefinition {
  const { name, summary, spreadsBy, options, make } = definition;
  return {
    name,
    summary,
    spreadsBy,
    options: Object.entries(options).map(([option, spec]) => ({ name: option, ...spec })),
    make: make as PolicyDefinition['make'],
  };
}
