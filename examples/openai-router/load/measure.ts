import { Agent } from 'undici';
import { type Answer, modelOf } from './client.js';
import { MachineWatch } from './machine.js';
import type { Report } from './report.js';
import { runRound } from './rounds.js';
import { AGENTIC, makeSessions } from './sessions.js';
import { added, Samples } from './summary.js';

export interface LoadOptions {
  readonly routerUrl: string;
  readonly workerUrls: readonly string[];
  /** Sessions at the same time. */
  readonly streams: number;
  /** On either path, the one that warms up not counted. */
  readonly rounds: number;
  readonly turns: number;
  readonly seed: number;
  /** A request ended, also one that only warms up. */
  readonly onAnswer?: ((answer: Answer) => void) | undefined;
}

type Path = 'direct' | 'router';

/** What is different in the messages of so many failures is told. */
const FAILURES_TOLD = 5;

/**
 * Rounds of new sessions, on one path and then on the other. On either path they have the same lengths, and on the direct one
 * each session stays at its worker: what is different is the router.
 */
export async function measure(options: LoadOptions): Promise<Report> {
  const { routerUrl, workerUrls, streams, rounds, turns, seed, onAnswer } = options;
  const dispatcher = new Agent();
  const samples = { direct: new Samples(), router: new Samples() };
  const failures = new Set<string>();
  try {
    const model = await modelOf(routerUrl);
    const round = async (path: Path, number: number) => {
      await runRound({
        sessions: makeSessions(streams, `${path}-${seed}-${number}`, seed + number, { ...AGENTIC, turns }),
        urlOf: (i) => (path === 'router' ? routerUrl : workerUrls[i % workerUrls.length]!),
        model,
        dispatcher,
        onAnswer: (answer) => {
          if (number > 0) samples[path].add(answer);
          if (answer.error !== undefined && failures.size < FAILURES_TOLD) {
            failures.add(`${path === 'router' ? 'through the router' : 'direct'}: ${answer.error}`);
          }
          onAnswer?.(answer);
        },
      });
    };
    for (const path of ['direct', 'router'] as const) await round(path, 0);
    if (failures.size > 0) throw new Error(`requests failed while warming up\n${[...failures].join('\n')}`);
    const watch = new MachineWatch();
    for (let number = 1; number <= rounds; number++) {
      // Who comes first changes, so that whatever grows or drifts meets both.
      const order = number % 2 === 1 ? (['direct', 'router'] as const) : (['router', 'direct'] as const);
      for (const path of order) await round(path, number);
    }
    const machine = watch.end();
    const [direct, router] = [samples.direct.summary(), samples.router.summary()];
    const difference = added(direct, router);
    return {
      streams,
      rounds,
      turns,
      seed,
      direct,
      router,
      added: difference,
      failures: [...failures],
      machine,
    };
  } finally {
    await dispatcher.destroy();
  }
}
