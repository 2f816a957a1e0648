const removed = '[removed]';

/**
 * What could be a link, a key or an address, removed in this order where all patterns of its row find something. One
 * pattern that demands all of it would look at each run of text once for each of its characters.
 */
const sensitive: readonly (readonly [runs: RegExp, ...signs: RegExp[]])[] = [
  [/[\w+.-]+(?::\/\/\S+)?/g, /:\/\//],
  [/\b(?:bearer|basic|token)\s+\S+/gi],
  [/[^\s@<>"']+(?:@[^\s@<>"']+)?/g, /@/],
  // Long runs that mix letters and digits: keys, cursors, signatures.
  [/[\w+/=.~-]{24,}/g, /[0-9]/, /[A-Za-z]/],
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
  for (const [runs, ...signs] of sensitive) {
    result = result.replace(runs, (run) => (signs.every((sign) => sign.test(run)) ? removed : run));
  }
  result = result.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  const characters = [...result];
  return characters.length <= maxLength ? result : `${characters.slice(0, maxLength - 1).join('')}…`;
}
