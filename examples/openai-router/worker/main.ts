import { fail, run } from '../run-program.js';
import { readOptions } from './options.js';
import { startWorker } from './worker.js';

// Not before the answer to whoever asked for it is on its way.
const die = () => setImmediate(() => process.exit(1));

const options = readOptions(process.argv.slice(2));
const { url, events, replay, close } = await startWorker(options, die).catch(fail);
const alsoTells = events === undefined ? '' : `, KV events at ${events}, replayed at ${replay}`;
run({ url, events, replay }, `${options.name} listens at ${url}${alsoTells}`, close);
