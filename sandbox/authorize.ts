import { type Exchange, sendError } from './exchange.ts';
import type { Organization } from './organizations.ts';
import type { World } from './world.ts';

/** The organization whose key the request carries; otherwise answers 401 and gives null. */
export function authorize(world: World, exchange: Exchange): Organization | null {
  const [, key] = /^bearer +(\S+)$/i.exec(exchange.req.headers.authorization ?? '') ?? [];
  const organization = world.organizations.find(({ apiKey }) => apiKey === key);
  if (organization === undefined) {
    sendError(exchange, 401, 'A valid admin API key is required');
    return null;
  }
  exchange.log.org = organization.id;
  if (!world.faults.values.unauthorized) return organization;
  exchange.log.fault = 'unauthorized';
  sendError(exchange, 401, 'The admin API key has been revoked');
  return null;
}
