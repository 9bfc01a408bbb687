import { invalidArgType, outOfRange } from '../errors.js';
import { BlockHasher } from '../hash/block-hasher.js';
import { namespaceRoot } from '../hash/namespace.js';
import { counted } from '../text.js';
import { checkHashes, checkInteger, checkName, checkTokens } from '../validate.js';
import type { RouterSettings } from './options.js';
import { checkSession } from './state/router-state.js';
import type { RouteRequest } from './types.js';

const MAX_TOKENS = 0xffff_ffff;

/** A request's options, checked; its tokens are not hashed yet. */
export interface CheckedRequest {
  readonly session: string | undefined;
  readonly requestId: string | undefined;
  readonly inputLength: number;
  readonly blocks: number;
  /** Fills `BigUint64Array[blocks]`. May read what runs code, and throw for what it finds. */
  readonly writeHashes: (out: BigUint64Array) => void;
}

/** A prompt, given as tokens or as hashes. */
type Prompt = Pick<CheckedRequest, 'blocks' | 'writeHashes'> & { readonly length: number };

/** Reads requests: what is in them is checked, what the router knows of them is not. */
export class RequestReader {
  readonly #hasher: BlockHasher;
  readonly #partialLastBlock: boolean;

  constructor({ index, partialLastBlock }: RouterSettings) {
    this.#hasher = new BlockHasher(index);
    this.#partialLastBlock = partialLastBlock;
  }

  read(request: RouteRequest): CheckedRequest {
    if (typeof request !== 'object' || request === null)
      throw invalidArgType('request', 'an object', request);
    const { session, tokens, seqHashes, requestId, inputLength, namespace, extraKeys } = request;
    const name = checkSession(session);
    if (requestId !== undefined) checkName('requestId', requestId);
    if ((tokens === undefined) === (seqHashes === undefined)) {
      throw invalidArgType('request', 'an object with either tokens or seqHashes', request);
    }
    const { blocks, length, writeHashes } =
      seqHashes === undefined
        ? this.#tokens({ tokens, namespace, extraKeys })
        : this.#hashes({ seqHashes, namespace, extraKeys });
    const tokensInAll =
      inputLength === undefined ? length : checkInteger('inputLength', inputLength, 0, MAX_TOKENS);
    this.#checkCovers(tokensInAll, blocks);
    return { session: name, requestId, inputLength: tokensInAll, blocks, writeHashes };
  }

  #tokens({ tokens, namespace, extraKeys }: Given<'tokens'>): Prompt {
    const ids = checkTokens(tokens);
    const parent = namespace === undefined ? this.#hasher.root : namespaceRoot(namespace);
    return {
      blocks: Math.floor(ids.length / this.#hasher.blockSize),
      length: ids.length,
      writeHashes: (out) =>
        this.#hasher.seqHashes(ids, { out, parent, ...(extraKeys !== undefined && { extraKeys }) }),
    };
  }

  #hashes({ seqHashes, namespace, extraKeys }: Given<'seqHashes'>): Prompt {
    if (namespace !== undefined || extraKeys !== undefined) {
      const given = namespace ?? extraKeys;
      throw outOfRange('namespace and extraKeys', 'omitted with seqHashes, which have them already', given);
    }
    const hashes = checkHashes(seqHashes, 'seqHashes');
    return {
      blocks: hashes.length,
      length: hashes.length * this.#hasher.blockSize,
      writeHashes: (out) => out.set(hashes),
    };
  }

  /** Throws ERR_KVIDX_OUT_OF_RANGE when the hashed blocks have more tokens than the prompt. */
  #checkCovers(inputLength: number, blocks: number): void {
    const { blockSize } = this.#hasher;
    const least = this.#partialLastBlock ? (blocks - 1) * blockSize + 1 : blocks * blockSize;
    if (blocks === 0 || inputLength >= least) return;
    const hashed = `${counted(blocks, 'hashed block')} of ${blockSize} tokens`;
    throw outOfRange('inputLength', `at least ${least} (${hashed})`, inputLength);
  }
}

type Given<Prompt extends keyof RouteRequest> = {
  readonly [Field in Prompt | 'namespace' | 'extraKeys']: RouteRequest[Field] | undefined;
};
