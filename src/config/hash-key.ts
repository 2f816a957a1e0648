import { ConfigError } from './config-error.ts';
import type { SecretSource } from './secret-source.ts';

/** Shortest key that cannot be guessed: 16 random bytes in hexadecimal digits. */
const shortestKey = 32;

/** Reads `privacy.hashKey`. Throws `ConfigError` when it is missing or too short. */
export function readHashKey(secret: SecretSource): string {
  const key = secret.read();
  if (key.length >= shortestKey) return key;
  throw new ConfigError(
    `expected a hash key of at least ${shortestKey} characters in ${secret.describe()}, such as \`openssl rand -hex 32\` writes`,
  );
}
