/**
 * Where the page of an entry can be opened: its own address, or its path on the one site of its organization. Null when that
 * is not known, or would not lead to a page: what readers and agents leave may be any text.
 */
export function documentLink(path: string, domains: readonly string[]): string | null {
  if (/^[a-z][a-z0-9+.-]*:/i.test(path)) return pageAddress(path);
  const [domain, ...others] = domains;
  if (domain === undefined || others.length > 0) return null;
  // `//elsewhere.example` and `/\elsewhere.example` would name another host.
  const address = pageAddress(`https://${domain}/${path.replace(/^[\s/\\]+/, '')}`);
  return address !== null && new URL(address).hostname === domain.toLowerCase() ? address : null;
}

const longest = 2_000;

function pageAddress(text: string): string | null {
  if (text.length > longest || !URL.canParse(text)) return null;
  const { protocol, username, password, href } = new URL(text);
  const isPage = (protocol === 'https:' || protocol === 'http:') && username === '' && password === '';
  return isPage ? href : null;
}
