import { isLoopback } from '../rules/loopback.ts';
import { ProxyFailed, proxyFor } from './proxy.ts';

/** How this process would reach an address of the service. */
export type ServiceRoute =
  | { kind: 'direct'; loopback: boolean }
  | { kind: 'proxy'; host: string }
  /** The proxy variables cannot be used; the message may be shown. */
  | { kind: 'unusable'; message: string };

/** The route of the service's client to `url`, by the proxy variables of `environment`. */
export function routeTo(url: URL, environment: Readonly<Record<string, string | undefined>>): ServiceRoute {
  try {
    const proxy = proxyFor(url, environment);
    return proxy ? { kind: 'proxy', host: proxy.host } : { kind: 'direct', loopback: isLoopback(url.hostname) };
  } catch (error) {
    if (error instanceof ProxyFailed) return { kind: 'unusable', message: error.message };
    throw error;
  }
}
