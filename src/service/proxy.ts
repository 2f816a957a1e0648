import { isLoopback } from '../rules/loopback.ts';

/** The proxy opened no tunnel; its answer is not the service's, whatever the status. */
export class ProxyFailed extends Error {
  override readonly name = 'ProxyFailed';
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for `url` by `HTTPS_PROXY` or `HTTP_PROXY`, else `ALL_PROXY`, with the exceptions of `NO_PROXY` (names in
 * lower case win); null for none. Loopback addresses never go through a proxy. Throws `ProxyFailed` for an address
 * that is no http(s) URL, without quoting it: it may hold a password.
 */
export function proxyFor(url: URL, environment: Environment): URL | null {
  const name = url.protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  const address = variable(environment, name) || variable(environment, 'all_proxy');
  if (address === '' || isLoopback(url.hostname) || isExcepted(url, variable(environment, 'no_proxy'))) return null;
  const text = address.includes('://') ? address : `http://${address}`;
  const proxy = URL.canParse(text) ? new URL(text) : null;
  if (proxy?.protocol !== 'http:' && proxy?.protocol !== 'https:') {
    throw new ProxyFailed(`${name.toUpperCase()} is not an http:// or https:// address`);
  }
  return proxy;
}

function variable(environment: Environment, name: string): string {
  return (environment[name] ?? environment[name.toUpperCase()] ?? '').trim();
}

/** `NO_PROXY`: `*`, `host`, `.suffix` or `*.suffix`, each with an optional `:port`; a bare `host` covers what is below it. */
function isExcepted(url: URL, noProxy: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return noProxy.split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true;
    const [, pattern = '', entryPort] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    // An IPv6 address has colons of its own.
    if (entry.toLowerCase() === host || entry === url.hostname) return true;
    if (entryPort !== undefined && entryPort !== port) return false;
    const suffix = pattern.replace(/^\*?\./, '');
    return suffix !== '' && (host === suffix || host.endsWith(`.${suffix}`));
  });
}
