import type { PrivacyConfig } from '../config/config.ts';
import { readHashKey } from '../config/hash-key.ts';
import type { Privacy } from '../feedback/privacy/privacy.ts';

/** What the feedback store is told of `privacy`. Its key is read when something is hashed, and throws `ConfigError`. */
export function feedbackPrivacy({ hashKey, ...privacy }: PrivacyConfig): Privacy {
  let key: string | undefined;
  return {
    ...privacy,
    hashKey: () => {
      // The configuration requires one with `hash`.
      if (hashKey === null) throw new Error('there is no hash key');
      key ??= readHashKey(hashKey);
      return key;
    },
  };
}
