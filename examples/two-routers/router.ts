// A router replica: what it knows of the workers' caches comes from their sketches alone.
import { createHash } from 'node:crypto';
import { Router, redisTransport, SketchSubscriber } from 'kvidx';
import { answerCalls } from './child.js';
import { type Conversation, promptOf } from './traffic.js';

const [, url, ...workers] = process.argv.slice(2) as [string, string, ...string[]];
const transport = await redisTransport({ url });
const sketches = new SketchSubscriber({ transport, blockSize: 24, wantEveryMs: 200 });
const router = new Router({
  residency: 'sketch',
  sketches: { source: sketches, maxStalenessMs: 10_000 },
  // Each session goes where most of its prompt is; who is new, to whom did least.
  policy: 'kv-aware:overlap=prefix:k=50:by=work',
});
for (const worker of workers) router.addWorker(worker);
// The router follows its workers' sketches; these are for looking at them.
const followed = workers.map((worker) => sketches.follow(worker));

function route({ session, turn }: Conversation) {
  const decision = router.route({ session, seqHashes: promptOf({ session, turn }) });
  router.onDispatch(decision.requestId);
  router.onFinish(decision.requestId);
  return decision;
}

const methods = {
  route,
  /** Routes for so long, and answers what a decision took in the median, in µs. */
  async decide(ms: number) {
    const times: number[] = [];
    const seqHashes = Array.from({ length: 16 }, (_, i) => promptOf({ session: `s${i}`, turn: 2 }));
    const end = performance.now() + ms;
    while (performance.now() < end) {
      for (const [i, hashes] of seqHashes.entries()) {
        const start = performance.now();
        const { requestId } = router.route({ session: `s${i}`, seqHashes: hashes });
        times.push((performance.now() - start) * 1000);
        router.onError(requestId);
      }
      await new Promise((resolve) => setTimeout(resolve, 1)); // others of this process have their turn
    }
    return { decisions: times.length, medianUs: times.toSorted((a, b) => a - b)[times.length >> 1]! };
  },
  sketches: () =>
    followed.map(({ sketch, degraded }) => ({
      blocks: sketch?.keys,
      sequence: sketch?.sequence,
      digest: sketch && createHash('sha256').update(sketch.filter.words).digest('hex'),
      degraded,
    })),
};
export type RouterMethods = typeof methods;
answerCalls(methods);
