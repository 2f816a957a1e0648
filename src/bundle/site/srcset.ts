/** The addresses of a `srcset` (HTML, "srcset attributes"): each up to white space, descriptors up to a comma. */
export function srcsetUrls(value: string): string[] {
  const urls: string[] = [];
  let rest = value.replace(/^[\s,]+/, '');
  while (rest !== '') {
    const [url = ''] = /^\S+/.exec(rest) ?? [];
    const isBare = url.endsWith(',');
    urls.push(url.replace(/,+$/, ''));
    rest = rest.slice(url.length);
    if (!isBare) rest = rest.replace(/^(?:[^,(]|\([^)]*\)?)*/, '');
    rest = rest.replace(/^[\s,]+/, '');
  }
  return urls;
}
