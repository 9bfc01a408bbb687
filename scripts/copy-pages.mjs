// Copies what pages are made of to where tsc writes the code that serves or makes them: `dist`, or the folder that is
// named.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = resolve(process.argv[2] ?? join(root, 'dist'));

for (const part of [
  'examples/openai-router/router/page.html',
  'src/cli/bench-plot/charts.js',
  'src/cli/bench-plot/page.css',
]) {
  copyFileSync(join(root, part), join(out, part));
}

// The libraries of the charts are copied as they were published, with their licences and those of what is bundled in
// them: 0.5 MB, where the packages themselves would bring 7 MB to everybody who installs kvidx.
const modules = join(root, 'node_modules');
const licences = [
  'd3',
  'd3-ease',
  'd3-scale-chromatic',
  'delaunator',
  'robust-predicates',
  '@observablehq/plot',
  'interval-tree-1d',
  'binary-search-bounds',
  'isoformat',
].map((name) => `${name}:\n${readFileSync(join(modules, name, 'LICENSE'), 'utf8').trim()}`);
const scripts = ['d3/dist/d3.min.js', '@observablehq/plot/dist/plot.umd.min.js'].map((path) =>
  readFileSync(join(modules, path), 'utf8').trim(),
);
writeFileSync(
  join(out, 'src/cli/bench-plot/libraries.js'),
  `/*\n${licences.join('\n\n')}\n*/\n${scripts.join(';\n')};\n`,
);
