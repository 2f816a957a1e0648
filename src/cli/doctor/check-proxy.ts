import { isIPv4 } from 'node:net';
import type { ServiceConfig } from '../../config/config.ts';
import { isLoopback } from '../../rules/loopback.ts';
import { routeTo } from '../../service/service-route.ts';
import { bad, type Check, good, warning } from './check.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const name = 'proxy';
const setVariables = 'set HTTPS_PROXY to http://host:port, or unset it';

/** Whether the proxy variables are usable for the service and keep the connection to Temporal out of the proxy. */
export function proxyCheck(env: Environment, service: ServiceConfig | null, temporalAddress: string | null): Check {
  const ways: string[] = [];
  for (const address of new Set(service ? [service.baseUrl, service.analyticsBaseUrl] : [])) {
    const url = new URL(address);
    const route = routeTo(url, env);
    if (route.kind === 'unusable') return bad(name, route.message, setVariables);
    ways.push(route.kind === 'proxy' ? `${url.host} through ${route.host}` : `${url.host} directly`);
  }
  const odd = oddExceptions(env);
  if (odd.length > 0) {
    const detail = `NO_PROXY has entries that are not understood: ${odd.join(', ')}`;
    return warning(name, detail, 'list host names, .suffixes or addresses, each without a scheme');
  }
  if (temporalAddress !== null && caught(env, temporalAddress)) {
    const host = hostOf(temporalAddress);
    const detail = `commands reach Temporal at ${temporalAddress} through the proxy, but workers do not`;
    return warning(name, detail, `add ${host} to no_proxy`);
  }
  const set = ['https_proxy', 'http_proxy', 'all_proxy'].some((variable) => variableOf(env, variable) !== '');
  return good(name, [set ? 'set' : 'none set', ...ways].join('; '));
}

/** Entries that look like exceptions but match nothing. */
function oddExceptions(env: Environment): string[] {
  const entries = variableOf(env, 'no_proxy').split(/[\s,]+/);
  return entries.filter((entry) => entry.includes('://') || (entry.includes('*') && !/^\*(\..+)?$/.test(entry)));
}

/**
 * The commands' connection to Temporal reads only the lower-case variables, matches exceptions by suffix, and never uses a
 * proxy for this machine; the worker's ignores the variables.
 */
function caught(env: Environment, address: string): boolean {
  if (isLoopback(address) || !(env.grpc_proxy || env.https_proxy || env.http_proxy)) return false;
  const exceptions = (env.no_grpc_proxy || env.no_proxy || '').split(',').map((entry) => entry.trim());
  const host = hostOf(address);
  // The range may contain the address.
  return !exceptions.some((entry) => entry !== '' && (host.endsWith(entry) || (isIPv4(host) && entry.includes('/'))));
}

function hostOf(address: string): string {
  return address.replace(/:\d+$/, '');
}

function variableOf(env: Environment, variable: string): string {
  return (env[variable] ?? env[variable.toUpperCase()] ?? '').trim();
}
