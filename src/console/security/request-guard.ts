import { isIPv6 } from 'node:net';

/** The names under which browsers may ask for the console. Any other is refused: it may be an attacker's (rebinding). */
export interface KnownHosts {
  /** Of `Host`, in lower case, with the port unless it is the usual one. */
  hosts: ReadonlySet<string>;
  /** Of `Origin`. */
  origins: ReadonlySet<string>;
  /** Whether browsers use TLS, which a proxy terminates. */
  secure: boolean;
}

/** Loopback and the address for browsers, or without one the address where the console listens. */
export function knownHosts({ host, port, url }: { host: string; port: number; url: string | null }): KnownHosts {
  const local = ['localhost', '127.0.0.1', '[::1]', isIPv6(host) ? `[${host}]` : host.toLowerCase()];
  const own = local.map((name) => new URL(`http://${name}:${port}`));
  const all = url === null ? own : [...own, new URL(url)];
  return {
    hosts: new Set(all.map((address) => address.host)),
    origins: new Set(all.map((address) => address.origin)),
    secure: url?.startsWith('https:') ?? false,
  };
}

/** The checks that come before anything else is done with a request. */
interface GuardedRequest {
  method: string;
  /** Header by its name in lower case. */
  header(name: string): string | undefined;
}

interface Refusal {
  status: 400 | 403 | 405 | 415 | 421;
  title: string;
  message: string;
}

const reading: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * What is foreign in a request: its host name, or the page that sends it; null when neither is. Browsers name that page in
 * `Sec-Fetch-Site` and `Origin`, which no page can change. Other pages, even of the same site, may only link here. A
 * request that does more than read must come from one of our pages, so it needs one of the two headers.
 */
export function foreignIn({ method, header }: GuardedRequest, { hosts, origins }: KnownHosts): 'name' | 'page' | null {
  if (!hosts.has(header('host')?.toLowerCase() ?? '')) return 'name';
  const site = header('sec-fetch-site');
  const origin = header('origin');
  if (reading.has(method)) {
    const isVisit = header('sec-fetch-mode') === 'navigate' && header('sec-fetch-dest') === 'document';
    const isOwn = site === undefined || site === 'same-origin' || site === 'none';
    return (isOwn || isVisit) && (origin === undefined || origins.has(origin)) ? null : 'page';
  }
  const isOurs =
    (site === undefined || site === 'same-origin') &&
    (origin === undefined || origins.has(origin)) &&
    (site !== undefined || origin !== undefined);
  return isOurs ? null : 'page';
}

/** Why a request is refused, no matter who sends it; null when it may continue. What does more than read must be a form. */
export function refusalOf(request: GuardedRequest, known: KnownHosts): Refusal | null {
  const { method, header } = request;
  const foreign = foreignIn(request, known);
  if (foreign === 'name') {
    const message =
      'The console does not answer to this name. Use the address that docferry printed, or set console.url in docferry.yaml to the address in front of it.';
    return { status: 421, title: 'Another address', message };
  }
  if (reading.has(method) && foreign === null) return null;
  if (!reading.has(method) && method !== 'POST') {
    return { status: 405, title: 'Not possible', message: 'The console answers GET, HEAD and POST.' };
  }
  if (foreign === 'page') {
    const message = 'This did not come from a page of the console. Nothing was done.';
    return { status: 403, title: 'Not from the console', message };
  }
  const [type = ''] = (header('content-type') ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded') {
    return { status: 415, title: 'Not a form', message: 'The console accepts only forms. Nothing was done.' };
  }
  return null;
}
