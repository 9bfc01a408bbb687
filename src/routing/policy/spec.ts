import { closestMatch } from 'leven';
import { invalidArgType, outOfRange } from '../../errors.js';
import type { OptionValues, PolicyDefinition, PolicyOption } from './kind.js';
import type { Policy } from './policy.js';
import { RankingPolicy } from './ranking-policy.js';
import { POLICIES } from './registry.js';

/** A policy's name and those of its options that are not to have their defaults. */
export interface PolicySpec {
  readonly name: string;
  readonly [option: string]: string | number | undefined;
}

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** An option as it was given: the name or alias that was used, and the value. */
type Given = readonly [key: string, value: unknown];

/**
 * A policy from a text such as `kv-aware:overlap=fair:k=200` (`name:option=value:…`) or an object such as
 * `{ name: 'kv-aware', overlap: 'fair', k: 200 }`; `policyKinds` lists names and options. Throws
 * ERR_KVIDX_INVALID_ARG_TYPE (a value of the wrong type) or ERR_KVIDX_OUT_OF_RANGE (an unknown policy or option, one given
 * twice, a value outside its range).
 */
export function createPolicy(spec: string | PolicySpec): Policy {
  if (typeof spec === 'string') {
    const [name, ...parts] = spec.split(':');
    const definition = find(name!);
    return new RankingPolicy(spec, definition.make(readTexts(definition, parts)));
  }
  if (typeof spec !== 'object' || spec === null)
    throw invalidArgType('policy', 'a string or an object with a name', spec);
  const { name, ...options } = spec;
  if (typeof name !== 'string') throw invalidArgType('policy.name', 'a string', name);
  const definition = find(name);
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const values = readOptions(definition, given, checkValue);
  return new RankingPolicy(canonical(definition, values), definition.make(values));
}

function find(name: string): PolicyDefinition {
  const definition = POLICIES.find((each) => each.name === name);
  if (definition) return definition;
  const names = POLICIES.map((each) => each.name);
  throw outOfRange('policy', oneOf(names, name), name);
}

function readTexts(definition: PolicyDefinition, parts: readonly string[]): OptionValues {
  const given = parts.map((part): Given => {
    const equals = part.indexOf('=');
    if (equals <= 0) throw outOfRange(`an option of ${definition.name}`, 'of the form option=value', part);
    return [part.slice(0, equals), part.slice(equals + 1)];
  });
  return readOptions(definition, given, checkText);
}

/** A value for every option; those that are not given have their defaults. */
function readOptions(
  { name, options }: PolicyDefinition,
  given: readonly Given[],
  check: (what: string, option: PolicyOption, value: unknown) => number | string,
): OptionValues {
  const values: Record<string, number | string> = {};
  const givenAs = new Map<PolicyOption, string>();
  for (const [key, value] of given) {
    const option = options.find((each) => each.name === key || each.alias === key);
    if (!option) throw outOfRange(`an option of ${name}`, namesOf(options, key), key);
    const what = `${option.name} of ${name}`;
    const before = givenAs.get(option);
    if (before !== undefined) throw outOfRange(what, 'given once', `${before} and ${key}`);
    givenAs.set(option, key);
    values[option.name] = check(what, option, value);
  }
  for (const option of options) values[option.name] ??= option.default;
  return values;
}

function namesOf(options: readonly PolicyOption[], given: string): string {
  if (options.length === 0) return 'left out: it has none';
  const names = options.flatMap(({ name, alias }) => (alias === undefined ? [name] : [name, alias]));
  return oneOf(names, given);
}

function checkText(what: string, option: PolicyOption, value: unknown): number | string {
  const text = value as string;
  if (option.kind === 'choice') return checkValue(what, option, text);
  if (!DECIMAL.test(text)) throw outOfRange(what, range(option), text);
  return checkValue(what, option, Number(text));
}

function checkValue(what: string, option: PolicyOption, value: unknown): number | string {
  if (option.kind === 'choice') {
    if (typeof value !== 'string') throw invalidArgType(what, 'a string', value);
    if (!option.choices.includes(value)) throw outOfRange(what, oneOf(option.choices, value), value);
    return value;
  }
  const { kind, min, max } = option;
  if (typeof value !== 'number') throw invalidArgType(what, 'a number', value);
  if (!(value >= min && value <= max) || (kind === 'integer' && !Number.isInteger(value)))
    throw outOfRange(what, range(option), value);
  return value;
}

function range({ kind, min, max }: Extract<PolicyOption, { min: number }>): string {
  return `${kind === 'integer' ? 'an integer' : 'a number'} from ${min} to ${max}`;
}

/** The names that there are, and the one that was probably meant. */
function oneOf(names: readonly string[], given: string): string {
  const lowerCase = names.map((name) => name.toLowerCase());
  const maxDistance = Math.min(3, given.length >> 1);
  const near = closestMatch(given.toLowerCase(), lowerCase, { maxDistance });
  const hint = near === undefined ? '' : ` (did you mean ${names[lowerCase.indexOf(near)]}?)`;
  return `one of ${names.join(', ')}${hint}`;
}

/** Options that differ from their defaults, in the order of the registry. */
function canonical({ name, options }: PolicyDefinition, values: OptionValues): string {
  const told = options.filter((option) => values[option.name] !== option.default);
  return [name, ...told.map((option) => `${option.name}=${values[option.name]}`)].join(':');
}
