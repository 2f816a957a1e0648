import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import type { ServiceConfig } from '../../config/config.ts';
import { isLoopback } from '../../rules/loopback.ts';
import { proxyVariable, routeTo } from '../../rules/proxy.ts';
import { bad, type Check, good, warning } from './check.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const proxyName = 'proxy';
const setVariables = 'set HTTPS_PROXY to http://host:port, or unset it';

/** Whether the proxy variables are usable for the service and keep the connection to Temporal out of the proxy. */
export function proxyCheck(env: Environment, service: ServiceConfig | null, temporalAddress: string | null): Check {
  const ways: string[] = [];
  for (const address of new Set(service ? [service.baseUrl, service.analyticsBaseUrl] : [])) {
    const url = new URL(address);
    const route = routeTo(url, env);
    if (route.kind === 'unusable') return bad(proxyName, route.message, setVariables);
    ways.push(route.kind === 'proxy' ? `${url.host} through ${route.host}` : `${url.host} directly`);
  }
  const odd = oddExceptions(env);
  if (odd.length > 0) {
    const detail = `NO_PROXY has entries that are not understood: ${odd.join(', ')}`;
    return warning(proxyName, detail, 'list host names, .suffixes or addresses, each without a scheme');
  }
  if (temporalAddress !== null && caught(env, temporalAddress)) {
    const host = hostOf(temporalAddress);
    const detail = `commands reach Temporal at ${temporalAddress} through the proxy, but workers do not`;
    return warning(proxyName, detail, `add ${host} to no_proxy`);
  }
  const set = ['https_proxy', 'http_proxy', 'all_proxy'].some((variable) => proxyVariable(env, variable) !== '');
  return good(proxyName, [set ? 'set' : 'none set', ...ways].join('; '));
}

/** Entries that look like exceptions but match nothing. */
function oddExceptions(env: Environment): string[] {
  const entries = proxyVariable(env, 'no_proxy').split(/[\s,]+/);
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

const authoritiesName = 'certificate-authorities';
const begin = '-----BEGIN CERTIFICATE-----';
const setIt = 'set NODE_EXTRA_CA_CERTS to a readable PEM file before the process starts, or unset it';

/** Extra certificate authorities: if their file is unusable, Node silently goes on without them. */
export function certificateAuthoritiesCheck(file: string | undefined, now: Date): Check {
  if (!file) return good(authoritiesName, "those that come with Node (NODE_EXTRA_CA_CERTS isn't set)");
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return bad(authoritiesName, `NODE_EXTRA_CA_CERTS names ${file}, which cannot be read (${code})`, setIt);
  }
  const certificates = text.split(begin).slice(1);
  if (certificates.length === 0)
    return bad(authoritiesName, `NODE_EXTRA_CA_CERTS names ${file}, which contains none in PEM`, setIt);
  const parsed = certificates.map(parse);
  if (parsed.includes(null)) return bad(authoritiesName, `a certificate in ${file} cannot be read`, setIt);
  const old = parsed.filter((certificate) => certificate && new Date(certificate.validTo) < now);
  // Bundles of public authorities include expired ones.
  const expired = old.length === 0 ? '' : `, ${old.length} of them expired`;
  const detail = `those of Node and ${certificates.length} in ${file}${expired}`;
  return old.length < parsed.length
    ? good(authoritiesName, detail)
    : warning(authoritiesName, detail, 'replace them with their successors');
}

function parse(text: string): X509Certificate | null {
  try {
    return new X509Certificate(begin + text);
  } catch {
    return null;
  }
}
