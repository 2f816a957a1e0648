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
