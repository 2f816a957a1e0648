import { keepEverything, type Privacy } from '../../../src/feedback/privacy/privacy.ts';

export const testKey = '0123456789abcdef0123456789abcdef';

/** Settings of `privacy` with a key to hash under. */
export function privacyWith(over: Partial<Privacy>): Privacy {
  return { ...keepEverything, hashKey: () => testKey, ...over };
}
