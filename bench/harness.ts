import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { hasKvidxCode, KvidxError } from '../src/errors.js';
import { packageRoot } from '../src/native/load.js';
import type { Figure } from './figures.js';

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

/** What a scenario's process sends to its parent: how far it is, then its result, or why there is none. */
export type ScenarioMessage =
  | { readonly progress: string }
  | { readonly result: ScenarioResult }
  | { readonly failure: string };

export interface ScenarioContext {
  readonly quick: boolean;
  /** File of the trace to replay, for scenarios that replay one. */
  readonly trace: string;
  /** Tells people how far it is. */
  progress(message: string): void;
  /** Ends the scenario when `holds` is false; else the text becomes a line of `checks`. */
  check(text: string, holds: boolean): void;
  /** Says beside the figures what is missing among them. */
  note(text: string): void;
}

/** The main of a scenario's process: runs it and tells the parent (or prints, when there is none) how it went. */
export async function runScenario(
  scenario: string,
  body: (context: ScenarioContext) => Figure[] | Promise<Figure[]>,
): Promise<void> {
  const { values } = parseArgs({ options: { quick: { type: 'boolean' }, trace: { type: 'string' } } });
  const quick = values.quick ?? false;
  process.once('disconnect', () => process.exit()); // nobody waits any more
  process.channel?.unref(); // to listen to that keeps no process alive
  const checks: string[] = [];
  const notes: string[] = [];
  try {
    const figures = await body({
      quick,
      trace: values.trace ?? join(packageRoot(), 'examples', 'agentic-mini.jsonl.gz'),
      progress: (message) => tell({ progress: message }),
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
  if (process.send !== undefined)
    process.send(message, () => {}); // a parent that is gone waits for nothing
  else if ('progress' in message) console.warn(message.progress);
  else console.log(JSON.stringify(message, undefined, 2));
}
