import type { ServiceConfig } from '../../config/config.ts';
import { routeTo } from '../../wiring/service-route.ts';
import { type Check, good, warning } from './check.ts';

const name = 'bundle-links';

/**
 * Whether a link from this service could be followed. Its host is known only when an export gets one: a service on this
 * machine most likely links to this machine too, which has to be allowed.
 */
export function linksCheck({ baseUrl, linkHosts, allowInsecure }: ServiceConfig): Check {
  const url = new URL(baseUrl);
  const route = routeTo(url, {});
  const local = route.kind === 'direct' && route.loopback;
  const lacking = [
    ...(url.protocol === 'http:' && !allowInsecure ? ['allowInsecure: true'] : []),
    ...(local && linkHosts.length === 0 ? [`linkHosts: [${url.hostname}]`] : []),
  ];
  if (lacking.length > 0) {
    const detail = `the service is at ${baseUrl}; if its bundles are on such a host too, their links are refused`;
    return warning(name, detail, `set service.${lacking.join(' and service.')}, with the host that links lead to`);
  }
  if (url.protocol === 'https:' && allowInsecure) {
    const detail = 'service.allowInsecure permits http://, though the service has https://';
    return warning(name, detail, 'remove allowInsecure unless bundles are only to be had over http://');
  }
  const hosts = linkHosts.length === 0 ? '' : `, and ${linkHosts.join(', ')}`;
  return good(name, `${allowInsecure ? 'http:// and https://' : 'https://'} to public hosts${hosts}`);
}
