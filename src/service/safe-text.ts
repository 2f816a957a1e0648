const removed = '[removed]';

/** Patterns of what could be a link, a key or an address; removed in this order. */
const sensitive = [
  /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi,
  /\b(bearer|basic|token)\s+\S+/gi,
  /[^\s@<>"']+@[^\s@<>"']+/g,
  // Long runs that mix letters and digits: keys, cursors, signatures.
  /(?=[\w+/=.~-]*[0-9])(?=[\w+/=.~-]*[A-Za-z])[\w+/=.~-]{24,}/g,
];

/**
 * Makes a text of the service safe to show and log (X1): replaces links, bearer tokens, e-mail addresses, `secrets` and
 * whatever looks like a key, turns control characters into spaces, and cuts the rest to `maxLength` characters.
 */
export function safeText(text: string, secrets: readonly string[], maxLength: number): string {
  // A service may send megabytes; nothing beyond this would survive the cut.
  let result = text.slice(0, maxLength * 8);
  for (const secret of secrets) {
    if (secret !== '') result = result.replaceAll(secret, removed);
  }
  for (const pattern of sensitive) result = result.replace(pattern, removed);
  result = result.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  const characters = [...result];
  return characters.length <= maxLength ? result : `${characters.slice(0, maxLength - 1).join('')}…`;
}
