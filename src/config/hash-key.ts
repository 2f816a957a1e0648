import { ConfigError } from './config-error.ts';
import type { SecretSource } from './secret-source.ts';

/** Characters of a key nobody can guess: 16 random bytes in hexadecimal digits. */
const shortestKey = 32;

/** The key of `privacy.hashKey`. Throws `ConfigError` where there is none or it can be guessed. */
export function readHashKey(secret: SecretSource): string {
  const key = secret.read();
  if (key.length >= shortestKey) return key;
  throw new ConfigError(
    `expected a hash key of at least ${shortestKey} characters in ${secret.describe()}, such as \`openssl rand -hex 32\` writes`,
  );
}
