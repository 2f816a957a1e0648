const removed = '[removed]';

/** Printable text with anything that could be a link, a key or an address taken out, in this order. */
const sensitive = [
  /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi,
  /\b(bearer|basic|token)\s+\S+/gi,
  /[^\s@<>"']+@[^\s@<>"']+/g,
  // Long runs that mix letters and digits: keys, cursors, signatures.
  /(?=[\w+/=.~-]*[0-9])(?=[\w+/=.~-]*[A-Za-z])[\w+/=.~-]{24,}/g,
];

/**
 * Makes a text of the service's fit to be shown and logged (X1): links, bearer tokens, e-mail addresses,
 * `secrets` and whatever looks like a key are replaced, control characters become spaces, the rest is cut to
 * `maxLength` characters.
 */
export function safeText(text: string, secrets: readonly string[], maxLength: number): string {
  // A service may send megabytes here; nothing past this point would survive the cut.
  let result = text.slice(0, maxLength * 8);
  for (const secret of secrets) {
    if (secret !== '') result = result.replaceAll(secret, removed);
  }
  for (const pattern of sensitive) result = result.replace(pattern, removed);
  result = result.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  const characters = [...result];
  return characters.length <= maxLength ? result : `${characters.slice(0, maxLength - 1).join('')}…`;
}
