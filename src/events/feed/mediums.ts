import { TIERS, type Tier } from '../../kv-index/workers.js';
import { checkChoice, checkOptions } from '../../validate.js';

/** What engines call their tiers (vLLM, SGLang, LMCache, Mooncake, Dynamo). Anything else is refused. */
export const MEDIUM_TIERS: Readonly<Record<string, Tier>> = {
  GPU: 'gpu',
  DEVICE: 'gpu',
  CPU: 'cpu',
  cpu: 'cpu',
  CPU_PINNED: 'cpu',
  CPU_TIER1: 'cpu',
  CPU_TIER2: 'disk',
  DISK: 'disk',
  disk: 'disk',
  NVME: 'disk',
  STORAGE: 'disk',
  EXTERNAL: 'external',
  NETWORK: 'external',
  REMOTE: 'external',
  SHARED: 'external',
};

/** Medium → place of its tier in TIERS. */
export type TierPlaces = ReadonlyMap<string, number>;

export function tierPlaces(mediums: unknown): TierPlaces {
  const own = Object.entries(checkOptions(mediums as object | undefined, 'mediums'));
  const chosen = own.map(
    ([medium, tier]) => [medium, checkChoice(`mediums.${medium}`, tier, TIERS)] as const,
  );
  return new Map(
    [...Object.entries(MEDIUM_TIERS), ...chosen].map(([medium, tier]) => [medium, TIERS.indexOf(tier)]),
  );
}
