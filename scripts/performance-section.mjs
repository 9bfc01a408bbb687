// Writes the figures of README from reports of `kvidx bench --out`: what it needs of them is kept in bench/results.json, and the
// rows of performance-rows.mjs are filled in from there. With --check it writes nothing, and fails where README is not what the
// kept results give.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { rows } from './performance-rows.mjs';

const README = fileURLToPath(new URL('../README.md', import.meta.url));
const RESULTS = fileURLToPath(new URL('../bench/results.json', import.meta.url));
const BEGIN = '<!-- performance: begin, written by scripts/performance-section.mjs -->';
const END = '<!-- performance: end -->';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { check: { type: 'boolean' } },
});
if (positionals.length > 0) writeFileSync(RESULTS, kept(positionals.map(read)));
const missing = [];
const readme = readFileSync(README, 'utf8');
const [before, rest] = readme.split(`${BEGIN}\n`);
const after = rest?.split(END)[1];
if (after === undefined) fail(`README.md has not both of "${BEGIN}" and "${END}"`);
const written = `${before}${BEGIN}\n${section(read(RESULTS))}${END}${after}`;
if (values.check) {
  if (written !== readme) {
    fail(
      'the figures of README.md are not those of bench/results.json: node scripts/performance-section.mjs',
    );
  }
} else {
  writeFileSync(README, written);
  for (const name of missing) {
    console.error(`no figure {${name}}, so that its row is left out; rows: scripts/performance-rows.mjs`);
  }
}

function section({ runs }) {
  const scenarios = runs.flatMap((run) => run.scenarios);
  const figures = scenarios.flatMap(({ scenario, figures }) =>
    figures.map((figure) => ({ scenario, ...figure })),
  );
  const lines = rows.flatMap(([what, told]) => {
    const absent = missing.length;
    const filled = told.replace(/\{([^:}]+): ([^|}]+?)(?: \| ([^}]+))?\}/g, (whole, scenario, name, unit) => {
      const found = matching(figures, scenario, name, unit);
      if (found.length === 0) missing.push(whole.slice(1, -1));
      return found.length === 0 ? '' : figureWords(found);
    });
    return missing.length > absent ? [] : [`| ${what} | ${filled} |`];
  });
  const aimed = figures.filter(({ target }) => target !== undefined);
  const missed = aimed.filter((figure) => !meets(figure));
  const verdict = `Of ${aimed.length} targets in all ${aimed.length - missed.length} are met.`;
  const names = missed.map(
    (figure) =>
      ` Missed: \`${figure.scenario}\`, ${figure.name}: ${quantity(figure.value, figure.unit)} (${bounds(figure.target)}).`,
  );
  return `${machines(runs)}\n\n| | |\n|---|---|\n${lines.join('\n')}\n\n${verdict}${names.join('')}\n`;
}

function matching(figures, scenario, name, unit) {
  return figures.filter(
    (figure) =>
      matches(scenario, figure.scenario) &&
      matches(name, figure.name) &&
      (unit === undefined || figure.unit === unit),
  );
}

function matches(pattern, text) {
  return new RegExp(`^${pattern.split('*').map(escaped).join('.*')}$`).test(text);
}

function escaped(text) {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function figureWords(figures) {
  const values = figures.map(({ value }) => value);
  const [least, most] = [Math.min(...values), Math.max(...values)].map(digits);
  const value = least === most ? least : `${least} to ${most}`;
  return `${value} ${unitWords(figures[0].unit)}${targetWords(figures)}`;
}

function targetWords(figures) {
  const aimed = figures.filter(({ target }) => target !== undefined);
  if (aimed.length === 0) return '';
  const targets = new Set(aimed.map(({ target }) => bounds(target)));
  const told = targets.size === 1 ? [...targets][0] : `${targets.size} targets`;
  return ` (${told} ${aimed.every(meets) ? '✓' : '✗'})`;
}

function machines(runs) {
  const told = runs.map(({ cpu, cores, node, backend, isa, kvidx, launches, date, command }) => ({
    where: `${cpu}, ${cores} ${cores === 1 ? 'core' : 'cores'}, Node ${node}, ${backend} (${isa}), kvidx ${kvidx}`,
    how: `\`${command}\``,
    many: launches === 1 ? 'a single launch' : `medians of ${launches} launches`,
    day: date.slice(0, 10),
  }));
  const all = (of) => [...new Set(told.map(of))].join('; ');
  return [
    `Measured on ${all(({ day }) => day)} by ${all(({ how }) => how)}:`,
    `${all(({ many }) => many)} on ${all(({ where }) => where)}.`,
    'Ratios are of medians within one run; a target stands in brackets, with ✓ where it is met.',
    '[bench/README.md](bench/README.md) says how to read the figures and how they are made; `npx kvidx bench` makes them on your machine.',
  ].join('\n');
}

/** What is kept of reports: a line for each figure, without launches and histograms. */
function kept(reports) {
  if (reports.some(({ quick }) => quick)) fail('a run with --quick measures too little to be shown');
  if (reports.some(({ slowdown }) => slowdown)) fail('a run that was slowed down on purpose shows nothing');
  const runs = reports.map(({ scenarios, comparison: _, ...run }) => {
    const each = scenarios.map(({ scenario, figures }) => {
      const lines = figures.map(({ name, unit, value, margin, target }) =>
        JSON.stringify({ name, unit, value: rounded(value), margin: rounded(margin), target }),
      );
      return `{"scenario": ${JSON.stringify(scenario)}, "figures": [\n${lines.join(',\n')}\n]}`;
    });
    return `${JSON.stringify(run).slice(0, -1)}, "scenarios": [\n${each.join(',\n')}\n]}`;
  });
  return `{"runs": [\n${runs.join(',\n')}\n]}\n`;
}

function rounded(value) {
  return Number(value.toPrecision(4));
}

function meets({ value, target: { atLeast = -Infinity, atMost = Infinity } }) {
  return value >= atLeast && value <= atMost;
}

function bounds({ atLeast, atMost }) {
  if (atLeast !== undefined && atMost !== undefined) return `${atLeast} … ${atMost}`;
  return atLeast !== undefined ? `≥ ${atLeast}` : `≤ ${atMost}`;
}

function quantity(value, unit) {
  return `${digits(value)} ${unitWords(unit)}`;
}

function unitWords(unit) {
  return unit === 'x' ? '×' : unit;
}

/** Three digits, or all of a whole part below a million. */
function digits(value) {
  if (value >= 1e6) return `${(value / 1e6).toPrecision(3)} million`;
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}

function read(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
