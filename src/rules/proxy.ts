const loopback = /^((.+\.)?localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/** Whether a host, with or without a port, is this machine: `localhost`, `*.localhost`, 127.0.0.0/8 or ::1. */
export function isLoopback(host: string): boolean {
  return host === '::1' || loopback.test(host);
}

/** Whether no one on the way can listen: `https://`, or this machine. */
export function isSecure(url: URL): boolean {
  return url.protocol === 'https:' || isLoopback(url.hostname);
}

/** The proxy opened no tunnel; the status of its answer is not the service's. */
export class ProxyFailed extends Error {
  override readonly name = 'ProxyFailed';
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for `url` by `HTTPS_PROXY` or `HTTP_PROXY`, else `ALL_PROXY`, with the exceptions of `NO_PROXY` (names in
 * lower case win); null for none. Loopback addresses never go through a proxy. Throws `ProxyFailed` for an address
 * that is no http(s) URL, or whose credentials cannot be decoded, without quoting it: it may hold a password.
 */
export function proxyFor(url: URL, environment: Environment): URL | null {
  const names = [url.protocol === 'https:' ? 'https_proxy' : 'http_proxy', 'all_proxy'];
  const name = names.find((variable) => proxyVariable(environment, variable) !== '');
  if (name === undefined || isLoopback(url.hostname)) return null;
  if (isExcepted(url, proxyVariable(environment, 'no_proxy'))) return null;
  const address = proxyVariable(environment, name);
  const text = address.includes('://') ? address : `http://${address}`;
  const proxy = URL.canParse(text) ? new URL(text) : null;
  if (proxy?.protocol !== 'http:' && proxy?.protocol !== 'https:') {
    throw new ProxyFailed(`${name.toUpperCase()} is not an http:// or https:// address`);
  }
  try {
    decodeURIComponent(`${proxy.username}:${proxy.password}`);
  } catch {
    throw new ProxyFailed(`${name.toUpperCase()} has a % in its user or password: write it as %25`);
  }
  return proxy;
}

/** A variable by its name in lower case, else in capitals; empty when it is not set. */
export function proxyVariable(environment: Environment, name: string): string {
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

/** How this process would reach an address. */
type Route =
  | { kind: 'direct'; loopback: boolean }
  | { kind: 'proxy'; host: string }
  /** The proxy variables cannot be used; the message may be shown. */
  | { kind: 'unusable'; message: string };

/** The route to `url` by the proxy variables of `environment`. */
export function routeTo(url: URL, environment: Environment): Route {
  try {
    const proxy = proxyFor(url, environment);
    return proxy ? { kind: 'proxy', host: proxy.host } : { kind: 'direct', loopback: isLoopback(url.hostname) };
  } catch (error) {
    if (error instanceof ProxyFailed) return { kind: 'unusable', message: error.message };
    throw error;
  }
}
