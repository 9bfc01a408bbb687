import { Router } from 'kvidx';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { chat, errorOf, openRouter, stubWorker, stubWorkers, until } from './router-support.js';
import { begun, DONE, event } from './stub-worker.js';

describe('a fault of the router itself', () => {
  /** The next call of this hook throws; what is logged then. */
  const faulty = (hook: 'route' | 'reroute' | 'onDispatch' | 'onFirstToken' | 'onFinish') => {
    const fault = vi.spyOn(Router.prototype, hook).mockImplementationOnce(() => {
      throw new Error('a fault');
    });
    const logged: string[] = [];
    const log = vi.spyOn(process.stderr, 'write').mockImplementation((text) => logged.push(`${text}`) > 0);
    onTestFinished(() => {
      fault.mockRestore();
      log.mockRestore();
    });
    return logged;
  };

  it.each(['onFirstToken', 'onFinish'] as const)(
    'ends the request, at its worker as well, and is logged: in %s',
    async (hook) => {
      const workers = await stubWorkers((arrival) => begun(arrival, event('a')), undefined);
      const router = await openRouter(workers, { logLevel: 'error' });
      const logged = faulty(hook);
      const asked = router.post(chat('Hello.', { stream: true }));
      await until('it is there', () => workers[0]!.arrivals.length === 1);
      const { response, closed } = workers[0]!.arrivals[0]!;
      if (hook === 'onFinish') {
        const answered = await asked;
        response.end(DONE);
        await expect(answered.text()).rejects.toThrow();
      } else {
        const answered = await asked;
        expect(answered.status).toBe(500);
        expect((await errorOf(answered)).message).toMatch(/its log says why/);
      }
      await closed;
      const { decisions } = await router.settled();
      expect(decisions).toMatchObject([{ outcome: 'failed', error: 'a fault', attempts: 1 }]);
      expect(logged).toEqual([expect.stringContaining('a fault')]);
    },
  );

  it.each(['route', 'reroute', 'onDispatch'] as const)(
    'before anything is sent leaves nothing behind, and is logged: in %s',
    async (hook) => {
      const workers = [await stubWorker({ models: [{ id: 'other' }] }), await stubWorker()];
      const router = await openRouter(workers, { logLevel: 'error' });
      const logged = faulty(hook);
      const answered = await router.post(chat('Hello.'));
      expect([answered.status, (await errorOf(answered)).message]).toEqual([
        500,
        expect.stringMatching(/its log says why/),
      ]);
      expect(workers.flatMap(({ arrivals }) => arrivals)).toEqual([]);
      expect(logged).toEqual([expect.stringContaining('a fault')]);
      const { totals } = await router.settled();
      expect(totals).toMatchObject(hook === 'onDispatch' ? { failed: 1 } : { requests: 0 });
      expect((await router.post(chat('Hello.'))).status).toBe(200);
      await router.settled();
    },
  );
});
