import type { Router } from '../../../src/routing/router.js';
import { hashes } from '../../kv-index/support.js';

const TYPE = 'ERR_KVIDX_INVALID_ARG_TYPE';
const RANGE = 'ERR_KVIDX_OUT_OF_RANGE';

/** Calls that are refused whatever the router's state, given the id of some request under way. */
export const WRONG_CALLS: readonly (readonly [
  string,
  string,
  (router: Router, id: string | undefined) => unknown,
])[] = [
  ['route of nothing', TYPE, (router) => router.route({})],
  ['route of both', TYPE, (router) => router.route({ tokens: [], seqHashes: hashes() })],
  ['route of a short length', RANGE, (router) => router.route({ seqHashes: hashes(1, 2), inputLength: 19 })],
  ['route of an empty session', RANGE, (router) => router.route({ session: '', tokens: [] })],
  ['route of a bad token', RANGE, (router) => router.route({ session: 's1', tokens: [-1] })],
  ['explain of nothing', TYPE, (router) => router.explain({})],
  [
    'route of an id under way',
    RANGE,
    (router, id) =>
      router.route(id === undefined ? { requestId: '', tokens: [] } : { requestId: id, tokens: [] }),
  ],
  ['reroute of an unknown id', RANGE, (router) => router.reroute('nobody')],
  ['onDispatch of a number', TYPE, (router) => router.onDispatch(7 as never)],
  ['onFinish of null', TYPE, (router) => router.onFinish(null as never)],
  ['onReject of an empty id', RANGE, (router) => router.onReject('')],
  ['whenPrefilled without a callback', TYPE, (router, id) => router.whenPrefilled(id ?? 'x', 7 as never)],
  ['addWorker of an estimate', RANGE, (router) => router.addWorker('a (estimate)')],
  ['addWorker with no capacity', RANGE, (router) => router.addWorker('a', { capacity: 0 })],
  [
    'addWorker of an unknown residency',
    RANGE,
    (router) => router.addWorker('new', { residency: 'x' as never }),
  ],
  ['drainWorker of nobody', 'ERR_KVIDX_UNKNOWN_WORKER', (router) => router.drainWorker('nobody')],
  ['failWorker of nobody', 'ERR_KVIDX_UNKNOWN_WORKER', (router) => router.failWorker('nobody')],
  ['removeWorker of nobody', 'ERR_KVIDX_UNKNOWN_WORKER', (router) => router.removeWorker('nobody')],
  ['assign to nobody', 'ERR_KVIDX_UNKNOWN_WORKER', (router) => router.assign('x', 'nobody')],
  ['endSession of an anonymous one', RANGE, (router) => router.endSession('\0x')],
  ['expire at no time', RANGE, (router) => router.expire(Number.NaN)],
  ['restore of rubbish', 'ERR_KVIDX_BAD_SNAPSHOT', (router) => router.index.restore(new Uint8Array(9))],
];
