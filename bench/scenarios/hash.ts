import { BlockHasher } from '../../src/hash/block-hasher.js';
import { SessionHasher } from '../../src/hash/session-hasher.js';
import { nativeSeam, referenceSeam } from '../backends.js';
import { runScenario } from '../harness.js';
import { Race } from '../race.js';
import { Random } from '../random.js';

const BLOCKS = 2818;
const BLOCK_SIZE = 24;
const APPENDED = 500;

await runScenario('hash', async ({ quick, check }) => {
  const native = nativeSeam();
  const reference = await referenceSeam();
  const random = new Random(1);
  const tokens = random.tokens(BLOCKS * BLOCK_SIZE);
  const locals = new BigUint64Array(BLOCKS);
  const fast = new BigUint64Array(BLOCKS);
  const slow = new BigUint64Array(BLOCKS);

  native.localHashes(tokens, BLOCK_SIZE, undefined, locals);
  native.seqHashes(tokens, BLOCK_SIZE, 0n, undefined, fast);
  reference.seqHashes(tokens, BLOCK_SIZE, 0n, undefined, slow);
  check(
    `both backends give the same ${BLOCKS} seq hashes`,
    Buffer.from(fast.buffer).equals(Buffer.from(slow.buffer)),
  );

  const session = new SessionHasher(new BlockHasher({ blockSize: BLOCK_SIZE }));
  const appended = random.tokens(APPENDED);
  session.append(tokens);
  const history = session.tokens;

  const race = new Race(
    {
      native: { run: () => native.seqHashes(tokens, BLOCK_SIZE, 0n, undefined, fast) },
      wasm: { run: () => reference.seqHashes(tokens, BLOCK_SIZE, 0n, undefined, slow) },
      chain: { run: () => native.chainHashes(locals, 0n, fast) },
      append: { prepare: () => session.truncate(history), run: () => session.append(appended) },
    },
    { rounds: quick ? 2 : 10, roundMs: quick ? 20 : 150 },
  );
  const perBlock = (name: 'native' | 'wasm' | 'chain') => race.medianNs(name) / BLOCKS;
  return [
    { name: 'xxhash-wasm ÷ native', unit: 'x', ...race.ratio('wasm', 'native'), target: { atLeast: 12 } },
    { name: 'native', value: perBlock('native'), unit: 'ns/block' },
    { name: 'xxhash-wasm', value: perBlock('wasm'), unit: 'ns/block' },
    { name: 'native, chain step alone (a latency)', value: perBlock('chain'), unit: 'ns/block' },
    {
      name: `SessionHasher: append ${APPENDED} tokens to ${history}`,
      value: race.medianNs('append') / 1000,
      unit: 'µs',
    },
  ];
});
