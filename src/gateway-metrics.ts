import type { Logger } from 'pino';
import type { AnalyticsAccess } from './service/analytics-access.ts';
import { beginRequests } from './begin-counts.ts';
import { countedAccess } from './counted-service.ts';
import { installRuntime, metricsOfRuntime } from './temporal/runtime.ts';

/** Has requests to these organizations' analytics counted, and shown to Prometheus at `ip:port`. */
export function countedAccesses(
  analytics: ReadonlyMap<string, AnalyticsAccess>,
  log: Logger,
  metricsAddress: string,
): Map<string, AnalyticsAccess> {
  installRuntime(log, metricsAddress);
  const metrics = metricsOfRuntime();
  return new Map(
    [...analytics].map(([org, access]) => {
      beginRequests(metrics, org, 'gateway');
      return [org, countedAccess(access, org, metrics)];
    }),
  );
}
