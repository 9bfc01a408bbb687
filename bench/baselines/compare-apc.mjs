// Times `kvidx apc` against the plain baseline on one trace, taking turns, and asserts that both print the same figures.
// Whole commands are timed from outside; counting is timed from parsed ids on. Needs the compiled files (npm run build).
//
//   node bench/baselines/compare-apc.mjs trace.jsonl.gz 64
import { deepStrictEqual } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { seam } from '../../dist/src/native/index.js';
import { TraceReader } from '../../dist/src/trace/trace-reader.js';

const ROUNDS = 7;
const CURVE = '1000,2000,5000,10000,20000,50000,100000';
const [trace, blockSize] = process.argv.slice(2);
const cli = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
const baseline = fileURLToPath(new URL('apc-plain.mjs', import.meta.url));

const commands = {
  plain: [baseline, trace, blockSize],
  kvidx: [cli, 'apc', trace, '--block-size', blockSize, '--json'],
  kvidxCurve: [cli, 'apc', trace, '--block-size', blockSize, '--json', '--curve', CURVE],
};
const times = { plain: [], kvidx: [], kvidxCurve: [], plainCounting: [], kvidxCounting: [] };

const rows = [];
for await (const { sessionId, hashIds } of new TraceReader(trace)) rows.push({ sessionId, hashIds });

for (let round = 0; round < ROUNDS; round++) {
  const results = {};
  for (const [name, args] of Object.entries(commands)) {
    const started = performance.now();
    const output = execFileSync(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    times[name].push(performance.now() - started);
    results[name] = JSON.parse(output);
  }
  const { counting_ms: countingMs, ...figures } = results.plain;
  for (const [name, value] of Object.entries(figures)) deepStrictEqual(results.kvidx[name], value, name);
  times.plainCounting.push(countingMs);
  times.kvidxCounting.push(countMs());
}

const median = (name) => times[name].toSorted((a, b) => a - b)[ROUNDS >> 1];
for (const name of Object.keys(times))
  console.log(`${name.padEnd(14)} ${median(name).toFixed(1).padStart(8)} ms (median)`);
console.log(`whole command  ${(median('plain') / median('kvidx')).toFixed(2)} times faster`);
console.log(`counting       ${(median('plainCounting') / median('kvidxCounting')).toFixed(2)} times faster`);
console.log(
  `--curve costs  ${((median('kvidxCurve') / median('kvidx') - 1) * 100).toFixed(1)} % of the whole command`,
);

function countMs() {
  const numbers = new Map();
  const counter = seam.createApcCounter(new Float64Array(0));
  const hits = new Uint32Array(2);
  const started = performance.now();
  for (const { sessionId, hashIds } of rows) {
    let session = 0;
    if (sessionId !== undefined) {
      session = numbers.get(sessionId) ?? numbers.size + 1;
      numbers.set(sessionId, session);
    }
    counter.add(session, hashIds, hits);
  }
  const elapsed = performance.now() - started;
  counter.close();
  return elapsed;
}
