import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { CatalogueEntry } from './catalogue.js';
import type { ScenarioMessage, ScenarioResult } from './harness.js';

export interface LaunchOptions {
  readonly quick?: boolean | undefined;
  readonly trace?: string | undefined;
  readonly onProgress: (message: string) => void;
}

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs a scenario in a process of its own. Throws an Error that says why there is no result. */
export async function launch(entry: CatalogueEntry, options: LaunchOptions): Promise<ScenarioResult> {
  const { quick, trace, onProgress } = options;
  const args: string[] = [];
  if (quick) args.push('--quick');
  if (entry.replaysTrace && trace !== undefined) args.push(`--trace=${trace}`);
  let child: ChildProcess | undefined;
  const stop = () => child?.kill('SIGKILL'); // it listens to nothing while it measures
  const end = (signal: NodeJS.Signals) => {
    stop();
    process.exit(128 + constants.signals[signal]);
  };
  process.once('exit', stop);
  for (const signal of ENDING) process.once(signal, end); // before there is a child that a signal could leave behind
  child = fork(fileURLToPath(entry.file), args, {
    stdio: ['ignore', 2, 2, 'ipc'],
    env: { ...process.env, KVIDX_BACKEND: 'native' },
  });
  let answer: ScenarioMessage | undefined;
  child.on('message', (message: ScenarioMessage) => {
    if ('progress' in message) onProgress(message.progress);
    else answer = message;
  });
  const [code, signal] = await once(child, 'close');
  process.off('exit', stop);
  for (const signal of ENDING) process.off(signal, end);
  if (answer !== undefined && 'result' in answer) return answer.result;
  const failure = answer !== undefined && 'failure' in answer ? answer.failure : undefined;
  throw new Error(
    `bench ${entry.name}: ${failure ?? `ended without a result (${signal ?? `exit code ${code}`})`}`,
  );
}
