import { Bench, type FnReturnedObject, type Task } from 'tinybench';
import { type Better, type Figure, nsOf, type TimeUnit } from './figures.js';
import { slowedDown } from './slowdown.js';
import { binsOf, median, quantile } from './statistics.js';

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
  /** What kvidx is measured against, rather than kvidx itself. */
  readonly baseline?: true;
  readonly prepare?: () => void;
  readonly run: () => void;
}

/**
 * Times rivals against each other with tinybench: every round runs each of them for a while, in alternating order, so
 * that a slower spell of the machine meets all.
 */
export class Race<Name extends string> {
  /** Nanoseconds an operation, of each sample of each rival. */
  readonly #rounds: Map<Name, Float64Array>[] = [];
  readonly #rivals: Record<Name, Rival>;

  constructor(rivals: Record<Name, Rival>, { rounds, roundMs, samples }: RaceOptions) {
    this.#rivals = rivals;
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
        return samplesOf(task).map((ms) => (Math.max(0, ms - clock) * 1e6) / operations);
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
    return quantile(this.#all(name), q);
  }

  /** A figure of how long a rival takes: an operation's median, or that of one of its `parts` (such as blocks). */
  time(rival: Name, name: string, unit: TimeUnit, { parts = 1 } = {}): Figure {
    const scale = 1 / (nsOf(unit) * parts);
    const all = this.#all(rival).map((ns) => ns / parts);
    const [p50, p90, p99] = [0.5, 0.9, 0.99].map((q) => quantile(all, q) / nsOf(unit)) as [
      number,
      number,
      number,
    ];
    const rounds = this.#medians(rival).map((ns) => ns * scale);
    return {
      name,
      value: p50,
      unit,
      range: rangeOf(rounds),
      better: 'lower',
      best: Math.min(...rounds),
      latency: { p50, p90, p99, histogram: binsOf(all) },
      ...this.#kind(rival),
    };
  }

  /** A figure of how much a rival does in a second, where an operation has so many parts. */
  rate(rival: Name, name: string, unit: `${string}/s`, { parts = 1 } = {}): Figure {
    const rounds = this.#medians(rival).map((ns) => (1e9 * parts) / ns);
    const value = (1e9 * parts) / this.medianNs(rival);
    const best = Math.max(...rounds);
    return { name, value, unit, range: rangeOf(rounds), better: 'higher', best, ...this.#kind(rival) };
  }

  /** How many times as long `a` takes as `b`: the median of the rounds' ratios of medians, with their range. */
  ratio(a: Name, b: Name): { value: number; range: [number, number] } {
    return ratioOf(this.#medians(a), this.#medians(b));
  }

  #kind(rival: Name): Pick<Figure, 'baseline'> {
    return this.#rivals[rival].baseline ? { baseline: true } : {};
  }

  #all(name: Name): number[] {
    return this.#rounds.flatMap((round) => [...round.get(name)!]);
  }

  #medians(name: Name): number[] {
    return this.#rounds.map((round) => median(round.get(name)!));
  }
}

/** Of code that is timed outside of a race; `baseline` as in `Rival`. */
export function elapsedNs(body: () => void, { baseline }: { baseline?: true } = {}): number {
  const start = performance.now();
  body();
  return (ended(start, baseline) - start) * 1e6;
}

/** A figure of times that were taken outside of a race, each in `unit`: their median. */
export function timesFigure(name: string, unit: string, values: readonly number[], better: Better): Figure {
  const range = rangeOf(values);
  return { name, value: median(values), unit, range, better, best: range[better === 'lower' ? 0 : 1] };
}

/** How many times as much `a` is as `b`, where both have a value for each round: the median of the rounds' ratios, with their range. */
export function ratioOf(
  a: readonly number[],
  b: readonly number[],
): { value: number; range: [number, number] } {
  const each = a.map((value, round) => value / b[round]!);
  return { value: median(each), range: rangeOf(each) };
}

function rangeOf(values: readonly number[]): [number, number] {
  return [Math.min(...values), Math.max(...values)];
}

/** What `timed` answers for an operation that does nothing: taken off every sample. */
function clockMs(): number {
  const nothing: Rival = { baseline: true, run: () => {} };
  return median(Array.from({ length: 2_000 }, () => timed(nothing).overriddenDuration!));
}

function timed({ prepare, run, baseline }: Rival): FnReturnedObject {
  const begin = performance.now();
  prepare?.();
  const start = performance.now();
  run();
  const end = ended(start, baseline);
  return { overriddenDuration: end - start, overriddenIterationCost: end - begin };
}

function ended(start: number, baseline: true | undefined): number {
  const end = performance.now();
  return baseline ? end : slowedDown(start, end);
}

function samplesOf({ name, result }: Task): Float64Array {
  if (result.state !== 'completed') throw new Error(`tinybench: ${name} is ${result.state}`);
  return Float64Array.from(result.latency.samples!);
}
