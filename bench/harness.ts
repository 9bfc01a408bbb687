import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Bench, type FnReturnedObject, type Task } from 'tinybench';
import { hasKvidxCode, KvidxError } from '../src/errors.js';
import { packageRoot } from '../src/native/load.js';

/** What a figure should be; printed beside it. */
export type Target =
  | { readonly atLeast: number; readonly atMost?: number }
  | { readonly atMost: number; readonly atLeast?: number };

/** One line of a result. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  /** `x` for a ratio. */
  readonly unit: string;
  /** Smallest and largest value of the rounds. */
  readonly range?: readonly [number, number];
  readonly target?: Target;
}

/** What a scenario found. */
export interface ScenarioResult {
  readonly scenario: string;
  /** Smaller sizes and shorter rounds: the figures are no measure for the targets. */
  readonly quick: boolean;
  /** What was asserted before anything was timed. */
  readonly checks: readonly string[];
  /** What was left out, and why. */
  readonly notes: readonly string[];
  readonly figures: readonly Figure[];
}

/** What a scenario's process sends to its parent: its result, or why there is none. */
export type ScenarioMessage = { readonly result: ScenarioResult } | { readonly failure: string };

export interface ScenarioContext {
  readonly quick: boolean;
  /** File of the trace to replay, for scenarios that replay one. */
  readonly trace: string;
  /** Tells people on standard error how far it is. */
  progress(message: string): void;
  /** Ends the scenario when `holds` is false; else the text becomes a line of `checks`. */
  check(text: string, holds: boolean): void;
  /** Says beside the figures what is missing among them. */
  note(text: string): void;
}

export function meets(figure: Figure): boolean | undefined {
  if (figure.target === undefined) return undefined;
  const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = figure.target;
  return figure.value >= atLeast && figure.value <= atMost;
}

/** The main of a scenario's process: runs it and tells the parent (or prints, when there is none) how it went. */
export async function runScenario(
  scenario: string,
  body: (context: ScenarioContext) => Figure[] | Promise<Figure[]>,
): Promise<void> {
  const { values } = parseArgs({ options: { quick: { type: 'boolean' }, trace: { type: 'string' } } });
  const quick = values.quick ?? false;
  const checks: string[] = [];
  const notes: string[] = [];
  try {
    const figures = await body({
      quick,
      trace: values.trace ?? join(packageRoot(), 'examples', 'agentic-mini.jsonl.gz'),
      progress: (message) => void process.stderr.write(`${scenario}: ${message}\n`),
      check(text, holds) {
        if (!holds) throw new KvidxError('ERR_KVIDX_INTERNAL', `check failed: ${text}`);
        checks.push(text);
      },
      note: (text) => void notes.push(text),
    });
    tell({ result: { scenario, quick, checks, notes, figures } });
  } catch (error) {
    process.exitCode = 1;
    tell({ failure: hasKvidxCode(error) ? error.message : String((error as Error).stack ?? error) });
  }
}

function tell(message: ScenarioMessage): void {
  if (process.send === undefined) console.log(JSON.stringify(message, undefined, 2));
  else process.send(message, () => {}); // a parent that is gone waits for nothing
}

export interface RaceOptions {
  readonly rounds: number;
  /** Time of each rival in each round. */
  readonly roundMs: number;
  /** Samples of each rival in each round, at least. Default: tinybench's 64. Fewer for samples that take long. */
  readonly samples?: number;
}

/** One sample; `prepare`, when there is one, runs before each and is not timed. */
export interface Rival {
  /** Operations in one `run`: figures are for one of them. Default 1. */
  readonly operations?: number;
  readonly prepare?: () => void;
  readonly run: () => void;
}

/**
 * Times rivals against each other with tinybench: every round runs each of them for a while, in alternating order, so
 * that a slower spell of the machine meets all.
 */
export class Race<Name extends string> {
  readonly #rounds: Map<Name, Float64Array>[] = [];

  constructor(rivals: Record<Name, Rival>, { rounds, roundMs, samples }: RaceOptions) {
    const entries = Object.entries(rivals) as [Name, Rival][];
    for (let round = 0; round < rounds; round++) {
      const bench = new Bench({
        time: roundMs,
        warmup: round === 0,
        warmupTime: roundMs,
        ...(samples !== undefined && { iterations: samples, warmupIterations: samples }),
        retainSamples: true,
        throws: true,
      });
      for (const [name, rival] of round % 2 === 0 ? entries : entries.toReversed()) {
        bench.add(name, () => timed(rival), { async: false });
      }
      bench.runSync();
      const clock = clockMs();
      const perOperation = (task: Task): Float64Array => {
        const { operations = 1 } = rivals[task.name as Name];
        return samplesOf(task).map((ms) => Math.max(0, ms - clock) / operations);
      };
      this.#rounds.push(new Map(bench.tasks.map((task) => [task.name as Name, perOperation(task)])));
    }
  }

  /** Median nanoseconds an operation, over all rounds. */
  medianNs(name: Name): number {
    return this.quantileNs(name, 0.5);
  }

  /**
   * The nanoseconds that a share `q` of the samples stays below, over all rounds. Samples of several operations hide how
   * long the slow ones among them took.
   */
  quantileNs(name: Name, q: number): number {
    return (
      quantile(
        this.#rounds.flatMap((round) => [...round.get(name)!]),
        q,
      ) * 1e6
    );
  }

  /** How many times as long `a` takes as `b`: the median of the rounds' ratios of medians, with their range. */
  ratio(a: Name, b: Name): { value: number; range: [number, number] } {
    const each = this.#rounds.map((round) => median(round.get(a)!) / median(round.get(b)!));
    return { value: median(each), range: [Math.min(...each), Math.max(...each)] };
  }
}

/** What `timed` answers for an operation that does nothing: taken off every sample. */
function clockMs(): number {
  const nothing: Rival = { run: () => {} };
  return median(Array.from({ length: 2_000 }, () => timed(nothing).overriddenDuration!));
}

function timed({ prepare, run }: Rival): FnReturnedObject {
  const begin = performance.now();
  prepare?.();
  const start = performance.now();
  run();
  const end = performance.now();
  return { overriddenDuration: end - start, overriddenIterationCost: end - begin };
}

export function median(values: ArrayLike<number>): number {
  return quantile(values, 0.5);
}

/** The smallest value above a share `q` of the values, 0 ≤ q < 1. */
export function quantile(values: ArrayLike<number>, q: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.floor(sorted.length * q)]!;
}

function samplesOf({ name, result }: Task): Float64Array {
  if (result.state !== 'completed') throw new Error(`tinybench: ${name} is ${result.state}`);
  return Float64Array.from(result.latency.samples!);
}
