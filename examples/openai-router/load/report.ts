import Table from 'cli-table3';
import type { MachineTold } from './machine.js';
import type { Quantiles, Summary } from './summary.js';

export interface Report {
  readonly streams: number;
  readonly rounds: number;
  readonly turns: number;
  readonly seed: number;
  readonly direct: Summary;
  readonly router: Summary;
  /** What the router takes more. */
  readonly added: { readonly firstMs: Quantiles; readonly totalMs: Quantiles };
  /** Messages of requests that failed: some, each once. */
  readonly failures: readonly string[];
  readonly machine: MachineTold;
}

export function reportText(report: Report): string {
  const { direct, router, added, machine } = report;
  const table = new Table({
    head: ['', 'direct', 'router', 'added'],
    colAligns: ['left', 'right', 'right', 'right'],
    chars: { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' },
    style: { head: [], border: [] },
  });
  const parts = [
    ['first byte of the text', 'firstMs'],
    ['end of the answer', 'totalMs'],
  ] as const;
  for (const [title, part] of parts) {
    for (const quantile of ['median', 'p99'] as const) {
      const values = [direct, router, added].map((path) => ms(path[part][quantile]));
      table.push([`${title}, ${quantile}`, ...values]);
    }
  }
  const lines = [
    table.toString(),
    `${count(direct.requests)} requests direct to the session's worker, ${count(router.requests)} through the router: ${whatWasSent(report)}`,
    `cached, as the workers tell it: ${percent(hitRate(direct))} direct, ${percent(hitRate(router))} through the router`,
    `${machine.cpu}, ${machine.cores} cores, ${percent(machine.busy)} busy; timers of this process were ${ms(machine.lateMs)} late (p99)`,
  ];
  if (machine.isSaturated) {
    lines.push(
      'The machine was saturated: these times are those of waiting for a core. Try fewer --streams.',
    );
  }
  const failed = direct.failed + router.failed;
  if (failed > 0)
    lines.push(`failed requests: ${count(failed)}`, ...report.failures.map((told) => `  ${told}`));
  return lines.join('\n');
}

function whatWasSent({ streams, rounds, turns, seed, direct, router }: Report): string {
  const whole = direct.requests - direct.failed + router.requests - router.failed;
  const prompt = count(Math.round((direct.promptTokens + router.promptTokens) / whole));
  return `${streams} streams at once, turns of each: ${turns}, rounds: ${rounds}, prompts of ${prompt} tokens in the mean, a token every ${ms(direct.tokenMs)}; seed ${seed}`;
}

function hitRate({ cachedTokens, promptTokens }: Summary): number {
  return cachedTokens / promptTokens;
}

function ms(value: number): string {
  return `${value.toFixed(Math.abs(value) < 100 ? 2 : 1)} ms`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function count(value: number): string {
  return value.toLocaleString('en');
}
