import { Help } from 'commander';
import type { PolicyKind, PolicyOption } from '../routing/policy/kind.js';
import { policyKinds } from '../routing/policy/registry.js';

/** All policies with their options, laid out as commander does options. */
export function policyHelp(): string {
  const help = new Help();
  help.helpWidth = process.stdout.columns ?? 80;
  const items = policyKinds.flatMap(policyItems);
  const width = Math.max(...items.map(([term]) => term.length));
  return items.map(([term, text]) => help.formatItem(term, width, text, help)).join('\n');
}

type Item = readonly [term: string, text: string];

function policyItems({ name, summary, options }: PolicyKind): Item[] {
  return [[name, summary], ...options.map((option): Item => [`  ${optionTerm(option)}`, optionText(option)])];
}

function optionTerm({ name, alias }: PolicyOption): string {
  return alias === undefined ? name : `${alias}, ${name}`;
}

function optionText(option: PolicyOption): string {
  const choices = option.kind === 'choice' ? `choices: ${option.choices.join(', ')}, ` : '';
  return `${option.help} (${choices}default: ${option.default})`;
}
