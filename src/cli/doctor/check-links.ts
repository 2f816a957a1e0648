import type { ServiceConfig } from '../../config/config.ts';
import { routeTo } from '../../service/service-route.ts';
import { type Check, good, warning } from './check.ts';

const name = 'bundle-links';

/**
 * Whether links from this service could be followed. Their host is only known once an export gets one, but a service on
 * this machine most likely links to this machine too, which must be allowed.
 */
export function linksCheck({ baseUrl, linkHosts, allowInsecure }: ServiceConfig): Check {
  const url = new URL(baseUrl);
  const route = routeTo(url, {});
  const local = route.kind === 'direct' && route.loopback;
  const lacking = [
    ...(url.protocol === 'http:' && !allowInsecure ? ['allowInsecure: true'] : []),
    ...(local && linkHosts.length === 0 ? [`linkHosts: [${url.host}]`] : []),
  ];
  if (lacking.length > 0) {
    const detail = `the service is at ${baseUrl}; links to bundles on such a host are refused`;
    return warning(name, detail, `set service.${lacking.join(' and service.')}, with the host that links lead to`);
  }
  if (url.protocol === 'https:' && allowInsecure) {
    const detail = 'service.allowInsecure permits http://, though the service has https://';
    return warning(name, detail, 'remove allowInsecure unless bundles are only available over http://');
  }
  const hosts = linkHosts.length === 0 ? '' : `, and ${linkHosts.join(', ')}`;
  return good(name, `${allowInsecure ? 'http:// and https://' : 'https://'} to public hosts${hosts}`);
}
