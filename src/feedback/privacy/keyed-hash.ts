import { createHmac } from 'node:crypto';

/** What hashed values begin with. */
export const hashPrefix = 'hmac-sha256:';

/** Characters of a hashed value: the prefix and 64 hex digits. */
export const hashLength = hashPrefix.length + 64;

/** HMAC-SHA-256 of the text in UTF-8, with a prefix that tells it from plain text: 76 characters. */
export function keyedHash(key: string, text: string): string {
  return hashPrefix + createHmac('sha256', key).update(text).digest('hex');
}

export function isKeyedHash(text: string): boolean {
  return text.length === hashLength && /^hmac-sha256:[0-9a-f]{64}$/.test(text);
}
