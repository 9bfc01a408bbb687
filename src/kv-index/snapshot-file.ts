import { KvidxError } from '../errors.js';
import type { SectionFormat } from './section-file.js';

export type Section = 'settings' | 'workers' | 'sessions' | 'index';

/** What the core does not know (names, block size, namespace) as JSON, and the core's own snapshot. */
export const SNAPSHOT: SectionFormat<Section> = {
  magic: 'kvidxsn1',
  sections: ['settings', 'workers', 'sessions', 'index'],
  bad: badSnapshot,
};

export function badSnapshot(section: string, problem: string, cause?: unknown): KvidxError {
  return new KvidxError(
    'ERR_KVIDX_BAD_SNAPSHOT',
    `snapshot section "${section}": ${problem}; nothing was restored`,
    cause === undefined ? undefined : { cause },
  );
}
