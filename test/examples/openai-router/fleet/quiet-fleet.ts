import { expect, vi } from 'vitest';
import { Fleet, type FleetOptions } from '../../../../examples/openai-router/fleet/processes.js';
import type { StateOfRouter } from '../../../../examples/openai-router/router/state.js';

/** What the router says of a worker that goes down, or on hold. */
const DOWN = /"msg":"(w\d (is down: it|.*: it gets no requests for))/;
const SETTLES_WITHIN_MS = 20_000;

/** A fleet that is asked whether anything was wrong that no client saw. */
export class QuietFleet {
  readonly fleet: Fleet;
  readonly #lines: readonly string[];

  private constructor(fleet: Fleet, lines: readonly string[]) {
    this.fleet = fleet;
    this.#lines = lines;
  }

  static async start(options: FleetOptions): Promise<QuietFleet> {
    const lines: string[] = [];
    const fleet = await Fleet.start({ ...options, onLine: (name, line) => lines.push(`${name}: ${line}`) });
    return new QuietFleet(fleet, lines);
  }

  async state(): Promise<StateOfRouter> {
    return (await fetch(`${this.fleet.routerUrl}/debug/state`)).json() as Promise<StateOfRouter>;
  }

  async untilAllUp(): Promise<void> {
    await vi.waitFor(async () => {
      for (const worker of (await this.state()).workers) expect(worker).toMatchObject({ status: 'up' });
    }, SETTLES_WITHIN_MS);
  }

  /**
   * All workers are up, nothing is under way, in the router's books as at the workers, every request was counted once, and no
   * program printed anything but that a worker was down: no warning, no rejection that nobody handled.
   */
  async expectSettled(requests: number): Promise<void> {
    const urls = this.fleet.workers.map(({ url }) => url);
    await vi.waitFor(async () => {
      const { workers, totals } = await this.state();
      const { finished, failed, abandoned } = totals;
      expect({ ended: finished + failed + abandoned, routed: totals.requests }).toEqual({
        ended: requests,
        routed: requests,
      });
      for (const worker of workers)
        expect(worker).toMatchObject({ status: 'up', running: 0, pendingPrefillTokens: 0 });
      for (const url of urls)
        expect(await (await fetch(`${url}/fake`)).json()).toMatchObject({ running: 0, waiting: 0 });
    }, SETTLES_WITHIN_MS);
    expect(this.#lines.filter((line) => !DOWN.test(line))).toEqual([]);
  }
}
