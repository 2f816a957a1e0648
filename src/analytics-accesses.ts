import type { Config } from './config/config.ts';
import { type AnalyticsAccess, createAnalyticsAccess } from './service/analytics-access.ts';
import { timeoutsFor } from './organizations.ts';

/** The analytics area of the service with the key of each of these organizations. Throws `ConfigError` without a key. */
export function analyticsAccesses(
  { service, organizations }: Config,
  ids: Iterable<string>,
): Map<string, AnalyticsAccess> {
  const wanted = new Set(ids);
  const used = organizations.filter(({ id }) => wanted.has(id));
  return new Map(
    used.map(({ id, apiKey, budget }) => {
      apiKey.read();
      const access = createAnalyticsAccess(service.analyticsBaseUrl, {
        allowInsecure: service.allowInsecure,
        apiKey: () => apiKey.read(),
        timeouts: timeoutsFor(budget.arrivalMs),
      });
      return [id, access];
    }),
  );
}
