import { type Dispatcher, request } from 'undici';
import { troubleOf } from './upstream.js';

/** For all that is asked, to the end of the answers. */
const TIMEOUT_MS = 3000;
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Model → the model that it is a LoRA adapter of, or undefined. */
export type Models = ReadonlyMap<string, string | undefined>;

export interface LookOptions {
  readonly dispatcher: Dispatcher;
  readonly workerKey: string | undefined;
}

/** A worker does not answer as one that is up does. */
export class Unwell extends Error {
  override readonly name = 'Unwell';

  constructor(
    message: string,
    /** Nobody listens there. */
    readonly isGone = false,
  ) {
    super(message);
  }
}

/** Answers what a worker serves, if it is well. Throws Unwell. */
export async function lookAt(url: string, { dispatcher, workerKey }: LookOptions): Promise<Models> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const headers = workerKey === undefined ? {} : { authorization: `Bearer ${workerKey}` };
  const get = async (path: string) => {
    const { statusCode, body } = await request(url + path, { dispatcher, headers, signal });
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of body) {
      bytes += piece.length;
      if (bytes > MAX_ANSWER_BYTES)
        throw new Unwell(`answers ${path} with more than ${MAX_ANSWER_BYTES} bytes`);
      pieces.push(piece);
    }
    if (statusCode !== 200) throw new Unwell(`answers ${path} with ${statusCode}${adviceOn(statusCode)}`);
    return Buffer.concat(pieces).toString();
  };
  try {
    await get('/health');
    return readModels(await get('/v1/models'));
  } catch (error) {
    if (error instanceof Unwell) throw error;
    if (signal.aborted) throw new Unwell('does not answer in time');
    throw new Unwell(troubleOf(error), (error as NodeJS.ErrnoException).code === 'ECONNREFUSED');
  }
}

function adviceOn(status: number): string {
  const isLocked = status === 401 || status === 403;
  return isLocked ? ': set KVIDX_WORKER_KEY to an API key that it takes' : '';
}

/** As vLLM and SGLang answer /v1/models: an adapter names its `parent`. */
function readModels(text: string): Models {
  try {
    const { data } = JSON.parse(text) as { data: { id: unknown; parent?: unknown }[] };
    return new Map(
      data.map(({ id, parent }) => [String(id), typeof parent === 'string' ? parent : undefined]),
    );
  } catch {
    throw new Unwell('answers /v1/models without a list of models');
  }
}
