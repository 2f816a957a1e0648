import type { PrivacyConfig } from '../../config/config.ts';
import { readHashKey } from '../../config/hash-key.ts';
import type { Privacy } from './privacy.ts';

/** `privacy` for the feedback store. The key is read when something is hashed, which may throw `ConfigError`. */
export function feedbackPrivacy({ hashKey, ...privacy }: PrivacyConfig): Privacy {
  let key: string | undefined;
  return {
    ...privacy,
    hashKey: () => {
      // With `hash`, the configuration requires a key.
      if (hashKey === null) throw new Error('there is no hash key');
      key ??= readHashKey(hashKey);
      return key;
    },
  };
}
