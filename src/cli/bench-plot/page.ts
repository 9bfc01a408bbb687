import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { meets } from '../../../bench/figures.js';
import type { BenchReport, ReportFigure, ScenarioReport } from '../../../bench/report.js';
import { counted } from '../../text.js';
import { bounds, digits, marginWords, quantity } from '../bench-words.js';
import { barCharts, latencyHistogram } from './chart-data.js';
import { Html, html, jsonScript } from './html.js';

/**
 * A page of charts that needs nothing but itself: texts and tables are there without scripts, charts are drawn when it
 * is opened, to its width. Its policy lets it load nothing and run only the scripts that it was made with.
 */
export function benchPage(report: BenchReport): string {
  const scripts = ['libraries.js', 'charts.js'].map(asset);
  const hashes = scripts.map((text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`);
  const policy = `default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src ${hashes.join(' ')}`;
  const title = `kvidx bench, ${report.date.slice(0, 10)}`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>
${new Html(asset('page.css'))}</style>
</head>
<body>
${header(report)}
<main>
${report.scenarios.map(section)}
</main>
<footer>Compare ratios, not nanoseconds: rivals take turns within one run, and a slow spell of the machine meets all of
them. Made by <code>${report.command}</code>, drawn by Observable Plot.</footer>
${scripts.map((text) => new Html(`<script>${text}</script>\n`))}</body>
</html>
`.text;
}

function header(report: BenchReport): Html {
  const { kvidx, node, cpu, cores, backend, isa, blockSize, date, launches, quick, scenarios } = report;
  const facts: [string, string | number][] = [
    ['Processor', cpu],
    ['Cores', cores],
    ['Backend', `${backend}, ${isa}`],
    ['Block size', `${blockSize} tokens`],
    ['Launches', `${launches} of each scenario`],
    ['kvidx', kvidx],
    ['Node', node],
    ['Date', `${date.slice(0, 16).replace('T', ' ')} UTC`],
  ];
  return html`<header>
<h1>kvidx bench</h1>
<dl class="facts card">
${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>\n`)}</dl>
<div class="card">
${quick ? html`<p>--quick: sizes are small and rounds short, the targets do not apply.</p>` : summary(scenarios)}
<p class="note">A bar ends at the median of the launches, its whisker goes from the smallest launch to the largest. A thick line
is a target: ✓ it is met, ✗ it is missed. Grey bars are baselines, code that is not kvidx's.</p>
</div>
<nav aria-label="Scenarios"><ul class="plain">
${scenarios.map(({ scenario }) => html`<li><a href="#${encodeURIComponent(scenario)}">${scenario}</a></li>\n`)}</ul></nav>
</header>`;
}

function summary(scenarios: readonly ScenarioReport[]): Html {
  const figures = scenarios.flatMap(({ scenario, figures }) =>
    figures.map((figure) => ({ scenario, figure })),
  );
  const missed = figures.filter(({ figure }) => meets(figure) === false);
  const met = figures.filter(({ figure }) => meets(figure) === true).length;
  if (met + missed.length === 0) return html`<p>None of these figures has a target.</p>`;
  return html`<p class="verdict">${html`<span class="met">✓ ${counted(met, 'target')} met</span>`}${
    missed.length === 0 ? undefined : html`, <span class="missed">✗ ${missed.length} missed</span>`
  }</p>
<ul class="plain">
${missed.map(
  ({ scenario, figure }) =>
    html`<li><span class="missed">✗</span> <a href="#${encodeURIComponent(scenario)}">${scenario}</a>: ${figure.name}, ${quantity(
      figure.value,
      figure.unit,
    )} (${bounds(figure.target!)})</li>\n`,
)}</ul>`;
}

function section(report: ScenarioReport): Html {
  const { scenario, description, checks, notes, figures } = report;
  const histograms = figures.flatMap((figure) => {
    const histogram = latencyHistogram(scenario, figure);
    return histogram === undefined ? [] : [{ name: figure.name, ...histogram }];
  });
  return html`<section aria-labelledby="${scenario}">
<div>
<h2 id="${scenario}">${scenario}</h2>
<p>${description}</p>
</div>
${barCharts(report).map(({ title, chart }) => chartFigure(html`${title}`, chart))}
${
  histograms.length === 0
    ? undefined
    : html`<h3>How long single samples took</h3>
<div class="histograms">
${histograms.map(({ name, note, chart }) => chartFigure(html`${name} <span>${note}</span>`, chart))}</div>`
}
<details class="card" open><summary>All figures of ${scenario}</summary>
${figureTable(report)}
</details>
${notes.map((note) => html`<p class="note">${note}</p>\n`)}
${checks.length === 0 ? undefined : html`<details class="note"><summary>Asserted before anything was timed</summary><ul>${checks.map((check) => html`<li>${check}</li>`)}</ul></details>`}
</section>
`;
}

function chartFigure(caption: Html, chart: unknown): Html {
  return html`<figure class="card"><figcaption>${caption}</figcaption><div class="plot"></div>${jsonScript(chart)}</figure>\n`;
}

function figureTable({ quick, figures }: ScenarioReport): Html {
  const hasTargets = !quick && figures.some(({ target }) => target !== undefined);
  const hasLatencies = figures.some(({ latency }) => latency !== undefined);
  const columns: [string, (figure: ReportFigure) => string][] = [
    ['value', ({ value, unit }) => quantity(value, unit)],
  ];
  if (figures.some(({ launches }) => launches.length > 1)) {
    columns.push(['margin', marginWords], ['launches', ({ launches }) => spread(launches)]);
  }
  if (hasTargets) columns.push(['target', ({ target }) => (target === undefined ? '' : bounds(target))]);
  if (hasLatencies) {
    for (const percentile of ['p50', 'p90', 'p99'] as const) {
      columns.push([percentile, ({ latency }) => (latency === undefined ? '' : digits(latency[percentile]))]);
    }
  }
  return html`<table>
<thead><tr><th scope="col">figure</th>${columns.map(([name]) => html`<th scope="col" class="number">${name}</th>`)}${
    hasTargets ? html`<th scope="col">verdict</th>` : undefined
  }</tr></thead>
<tbody>
${figures.map(
  (figure) =>
    html`<tr><th scope="row">${figure.name}</th>${columns.map(
      ([name, words]) => html`<td class="number" data-name="${name}">${words(figure)}</td>`,
    )}${hasTargets ? verdictCell(figure) : undefined}</tr>\n`,
)}</tbody>
</table>`;
}

function spread(launches: readonly number[]): string {
  if (launches.length < 2) return '';
  return `${digits(Math.min(...launches))} … ${digits(Math.max(...launches))}`;
}

function verdictCell(figure: ReportFigure): Html {
  const met = meets(figure);
  if (met === undefined) return html`<td></td>`;
  return html`<td class="verdict ${met ? 'met' : 'missed'}">${met ? '✓ met' : '✗ missed'}</td>`;
}

function asset(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}
