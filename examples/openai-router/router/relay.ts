import { type AttemptsOptions, type Begun, troubled } from './attempts.js';
import { type Client, ClientGone } from './client.js';
import { endsInDone, errorIn, type StreamError, Tail } from './sse.js';
import { type Answer, isFailure, refusal, UpstreamFailure } from './upstream.js';

/** Brings an answer to its client, and writes down how it ended. Throws what cut it off, worded for the client. */
export async function relay(
  { answer, decision, entry }: Begun,
  client: Client,
  options: Pick<AttemptsOptions, 'router' | 'workers' | 'log' | 'idleMs'>,
): Promise<void> {
  const { router, idleMs } = options;
  const { requestId, worker, cachedTokens } = decision;
  const { response } = client;
  const { status } = answer;
  const isGood = status < 400;
  const forwarding = new Forwarding();
  try {
    response.writeHead(status, {
      'content-type': answer.contentType,
      'cache-control': 'no-cache',
      'x-kvidx-worker': worker,
      'x-kvidx-request-id': requestId,
      'x-kvidx-expected-tokens': cachedTokens,
    });
    await forwarding.run(answer, client, idleMs);
    const { usage, error } = forwarding;
    if (usage) entry.told(usage);
    if (isGood && !error) {
      router.onFinish(requestId);
      entry.ended('finished');
    } else {
      if (!isGood) router.onReject(requestId); // it did no work, and must not keep others away
      router.onError(requestId);
      entry.ended('failed', error ? `answered with an error: ${error.message}` : `answered ${status}`);
    }
    if (error && isFailure(error.status)) troubled(options, worker, refusal(error.status, error.message));
    response.end();
  } catch (error) {
    client.abort(error); // its worker sees the end
    const isGone = error instanceof ClientGone;
    if (isGone && isGood)
      router.onFinish(requestId); // its worker holds the prompt
    else router.onError(requestId);
    if (error instanceof UpstreamFailure) troubled(options, worker, error);
    const told = error instanceof UpstreamFailure ? error.worded(worker) : (error as Error);
    entry.ended(isGone ? 'abandoned' : 'failed', told.message);
    throw told;
  }
}

/** Writes an answer, and notes what stands in it. */
class Forwarding {
  readonly #tail = new Tail();
  /** Told in the middle of a stream. */
  error: StreamError | undefined;

  /** What happens behind the end of a stream, or behind an error in it, is no matter any more. */
  async run({ pieces, isStream }: Answer, client: Client, patienceMs: number): Promise<void> {
    let isOver = false;
    try {
      for await (const piece of pieces) {
        this.#tail.push(piece);
        await client.write(piece, patienceMs);
        if (!isStream) continue;
        this.error ??= errorIn(piece);
        isOver = endsInDone(piece) || this.error !== undefined;
      }
    } catch (error) {
      if (!isOver) throw error;
    }
  }

  get usage() {
    return this.#tail.usage();
  }
}
