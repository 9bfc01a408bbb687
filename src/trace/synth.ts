import { Random } from '../random.js';
import { checkInteger, checkOptions } from '../validate.js';
import { DISTRIBUTIONS } from './synth-distributions.js';
import type { ChatRow } from './types.js';

export interface SynthOptions {
  /** 0 to 2^32 − 1. Default 1. The same options give the same trace on every machine. */
  readonly seed?: number;
  /** Default 24. */
  readonly sessions?: number;
  /** Median of the turns a session. Default 40. */
  readonly turns?: number;
  /** Kinds of agent: sessions of one kind share its boilerplate. Default 3. */
  readonly agents?: number;
  /** Longest prompt, in tokens; a session that would exceed it is compacted. Default 160,000. */
  readonly maxInput?: number;
  /** Tokens a block. Default 64. Only full blocks get an id (floor). */
  readonly blockSize?: number;
}

interface Agent {
  readonly boilerplateTokens: number;
  /** Ids of its full blocks; filled when they first occur. */
  readonly ids: bigint[];
}

interface Request {
  readonly session: number;
  readonly turn: number;
  readonly timestampMs: number;
  readonly inputLength: number;
  readonly outputLength: number;
  readonly thinkMs: number | undefined;
  /** The history before was replaced by a summary. */
  readonly compacted: boolean;
}

/**
 * A trace of made-up coding agents, in order of time. A session's prompt is its agent's boilerplate, a first message,
 * and then turn by turn the answer before and what tools returned; when it would exceed `maxInput`, the history gives
 * way to a summary. Agent k (from 0) runs with weight 1 / (k + 1). Ids count up from 1 in order of first occurrence.
 * Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE.
 */
export function synthesizeTrace(options?: SynthOptions): Generator<ChatRow> {
  const {
    seed = 1,
    sessions = 24,
    turns = 40,
    agents = 3,
    maxInput = 160_000,
    blockSize = 64,
  } = checkOptions(options);
  checkInteger('seed', seed, 0, 2 ** 32 - 1);
  checkInteger('sessions', sessions, 1, 1_000_000);
  checkInteger('turns', turns, 1, 10_000);
  checkInteger('agents', agents, 1, 1_000);
  checkInteger('maxInput', maxInput, 1, 2 ** 32 - 1);
  checkInteger('blockSize', blockSize, 1, 2 ** 20);
  return makeTrace({ seed, sessions, turns, agents, maxInput, blockSize });
}

function* makeTrace(options: Required<SynthOptions>): Generator<ChatRow> {
  const { seed, sessions, turns, agents, maxInput, blockSize } = options;
  const random = new Random(seed);
  const kinds = Array.from({ length: agents }, (): Agent => {
    return { boilerplateTokens: random.draw(DISTRIBUTIONS.boilerplate), ids: [] };
  });
  const agentOf: Agent[] = [];
  const requests: Request[] = [];
  let startMs = 0;
  for (let session = 0; session < sessions; session++) {
    const agent = pickAgent(kinds, random);
    agentOf.push(agent);
    requests.push(...planSession(session, startMs, agent.boilerplateTokens, turns, maxInput, random));
    startMs += random.draw(DISTRIBUTIONS.startGapMs);
  }
  requests.sort((a, b) => a.timestampMs - b.timestampMs || a.session - b.session || a.turn - b.turn);
  yield* writeRows(requests, agentOf, blockSize);
}

function pickAgent(kinds: readonly Agent[], random: Random): Agent {
  const total = kinds.reduce((sum, _, k) => sum + 1 / (k + 1), 0);
  let left = random.uniform() * total;
  for (const [k, agent] of kinds.entries()) {
    left -= 1 / (k + 1);
    if (left < 0) return agent;
  }
  return kinds.at(-1)!;
}

function* planSession(
  session: number,
  startMs: number,
  boilerplateTokens: number,
  medianTurns: number,
  maxInput: number,
  random: Random,
): Generator<Request> {
  const turns = Math.max(1, random.draw(DISTRIBUTIONS.turns, medianTurns));
  let inputLength = Math.min(maxInput, boilerplateTokens + random.draw(DISTRIBUTIONS.firstMessage));
  let timestampMs = startMs;
  let thinkMs: number | undefined;
  let compacted = false;
  for (let turn = 0; turn < turns; turn++) {
    const outputLength = random.draw(DISTRIBUTIONS.answer);
    yield { session, turn, timestampMs, inputLength, outputLength, thinkMs, compacted };
    thinkMs = random.draw(DISTRIBUTIONS.thinkMs);
    timestampMs += outputLength * random.draw(DISTRIBUTIONS.msPerToken) + thinkMs;
    inputLength += outputLength + random.draw(DISTRIBUTIONS.result);
    compacted = inputLength > maxInput;
    if (compacted) inputLength = Math.min(maxInput, boilerplateTokens + random.draw(DISTRIBUTIONS.summary));
  }
}

function* writeRows(
  requests: readonly Request[],
  agentOf: readonly Agent[],
  blockSize: number,
): Generator<ChatRow> {
  const histories = agentOf.map((): bigint[] => []);
  const lastChat = new Map<number, string>();
  let nextId = 1n;
  for (const [i, request] of requests.entries()) {
    const { session, turn, timestampMs, inputLength, outputLength, thinkMs, compacted } = request;
    const agent = agentOf[session]!;
    const blocks = Math.floor(inputLength / blockSize);
    const sharedBlocks = Math.min(blocks, Math.floor(agent.boilerplateTokens / blockSize));
    while (agent.ids.length < sharedBlocks) agent.ids.push(nextId++);
    // Blocks behind the boilerplate; the one that straddles its end is the session's own.
    if (compacted) histories[session] = [];
    const history = histories[session]!;
    while (sharedBlocks + history.length < blocks) history.push(nextId++);
    const chatId = String(i + 1);
    yield {
      line: i + 1,
      timestampMs,
      inputLength,
      outputLength,
      sessionId: `s${String(session).padStart(3, '0')}`,
      chatId,
      parentChatId: lastChat.get(session),
      type: 'agent',
      turn,
      timeToParentChatMs: thinkMs,
      hashIds: BigUint64Array.from([...agent.ids.slice(0, sharedBlocks), ...history]),
    };
    lastChat.set(session, chatId);
  }
}
