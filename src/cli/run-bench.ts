import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nativeSeam } from '../../bench/backends.js';
import { type CatalogueEntry, catalogue, chosenScenarios } from '../../bench/catalogue.js';
import { type Figure, meets, type Target } from '../../bench/figures.js';
import type { ScenarioMessage, ScenarioResult } from '../../bench/harness.js';
import { packageRoot } from '../native/load.js';
import { grouped } from '../text.js';
import type { BenchFlags } from './bench.js';
import { CliError } from './cli-error.js';
import { writeThenPrint } from './out-file.js';
import { isReadOnce } from './rereadable.js';
import { table } from './table.js';

/** What `--json` prints and `--out` writes. */
interface BenchReport {
  readonly kvidx: string;
  readonly node: string;
  readonly cpu: string;
  /** Of the addon: the benches compare backends, whichever `KVIDX_BACKEND` chooses. */
  readonly isa: string;
  readonly date: string;
  readonly scenarios: ScenarioResult[];
}

export async function runBench(names: string[], flags: BenchFlags): Promise<void> {
  const { json, out, trace } = flags;
  if (flags.list) return list(names);
  if (trace !== undefined) await checkTrace(trace);
  const report: BenchReport = { ...machine(), scenarios: [] };
  // Nobody reads on: go on only for the file.
  if (out === undefined) process.stdout.once('error', () => process.exit());
  if (!json) console.log(`kvidx ${report.kvidx}, Node ${report.node}, ${report.cpu}, addon: ${report.isa}`);
  for (const entry of chosenScenarios(names)) {
    const result = await runInOwnProcess(entry, flags);
    report.scenarios.push(result);
    if (!json) console.log(`\n${render(entry, result)}`);
  }
  const text = `${JSON.stringify(report, undefined, 2)}\n`;
  writeThenPrint(out, text, json ? text : '');
}

function list(names: readonly string[]): void {
  for (const { name, description, onlyByName } of names.length === 0 ? catalogue : chosenScenarios(names)) {
    console.log(`${name.padEnd(10)}${description}${onlyByName ? ' (only when named)' : ''}`);
  }
}

/** Before minutes go by: is it a trace? Throws ERR_KVIDX_BAD_TRACE. A pipe keeps its rows for the scenario. */
async function checkTrace(path: string): Promise<void> {
  if (isReadOnce(path)) return;
  const { TraceReader } = await import('../trace/trace-reader.js'); // loads a backend, which may be missing
  for await (const _ of new TraceReader(path)) return;
}

function machine(): Omit<BenchReport, 'scenarios'> {
  return {
    kvidx: JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')).version,
    node: process.versions.node,
    cpu: cpus()[0]?.model.trim() ?? 'unknown processor',
    isa: nativeSeam().isa,
    date: new Date().toISOString(),
  };
}

async function runInOwnProcess(
  { name, file, replaysTrace }: CatalogueEntry,
  { quick, trace }: BenchFlags,
): Promise<ScenarioResult> {
  const options: string[] = [];
  if (quick) options.push('--quick');
  if (replaysTrace && trace !== undefined) options.push(`--trace=${trace}`);
  const child = fork(fileURLToPath(file), options, {
    stdio: ['ignore', 2, 2, 'ipc'],
    env: { ...process.env, KVIDX_BACKEND: 'native' },
  });
  const stop = () => child.kill();
  process.once('exit', stop);
  let answer: ScenarioMessage | undefined;
  child.on('message', (message) => {
    answer = message as ScenarioMessage;
  });
  const [code, signal] = await once(child, 'close');
  process.off('exit', stop);
  if (answer !== undefined && 'result' in answer) return answer.result;
  throw new CliError(
    `bench ${name}: ${answer?.failure ?? `ended without a result (${signal ?? `exit code ${code}`})`}`,
  );
}

function render(
  { name, description }: CatalogueEntry,
  { quick, checks, notes, figures }: ScenarioResult,
): string {
  const rows = figures.map((figure) => [
    figure.name,
    `${digits(figure.value)} ${figure.unit}`,
    figure.range ? figure.range.map(digits).join(' … ') : '',
    quick ? '' : verdict(figure),
  ]);
  const lines = [`${name}: ${description}`, table(['', 'figure', 'rounds', 'target'], rows)];
  lines.push(...checks.map((check) => `asserted: ${check}`), ...notes);
  if (quick) lines.push('--quick: sizes are small, the targets do not apply');
  return lines.join('\n');
}

function verdict(figure: Figure): string {
  if (figure.target === undefined) return '';
  return `${bounds(figure.target)} ${meets(figure) ? 'met' : 'missed'}`;
}

function bounds({ atLeast, atMost }: Target): string {
  if (atLeast !== undefined && atMost !== undefined) return `${atLeast} … ${atMost}`;
  return atLeast !== undefined ? `≥ ${atLeast}` : `≤ ${atMost}`;
}

/** Three digits, or all of a whole part. */
function digits(value: number): string {
  return value >= 100 ? grouped(Math.round(value)) : value.toPrecision(3);
}
