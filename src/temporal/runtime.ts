import { Runtime, type TelemetryOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import { temporalLogger } from './log.ts';
import { histograms, Metrics } from './metrics.ts';

let installed = false;

/**
 * Prepares the SDK's runtime. A process has only one, which uses the first log and the first address.
 *
 * @param metricsAddress `ip:port` at which to serve metrics to Prometheus; undefined for none
 */
export function installRuntime(log: Logger, metricsAddress?: string): void {
  if (installed) return;
  Runtime.install({
    logger: temporalLogger(log),
    telemetryOptions: {
      logging: { forward: {}, filter: 'temporal_sdk_core=WARN,temporalio=WARN' },
      ...(metricsAddress && { metrics: metricsAt(metricsAddress) }),
    },
    shutdownSignals: [],
  });
  installed = true;
}

/** docferry's own figures in the SDK's runtime; they go nowhere unless it serves metrics. */
export function metricsOfRuntime(): Metrics {
  return new Metrics(Runtime.instance().metricMeter);
}

/** The names that Temporal's documentation uses, with units. */
function metricsAt(bindAddress: string): NonNullable<TelemetryOptions['metrics']> {
  const buckets = Object.entries(histograms).map(([name, { buckets: limits }]): [string, number[]] => [
    name,
    [...limits],
  ]);
  return {
    attachServiceName: false,
    prometheus: {
      bindAddress,
      countersTotalSuffix: true,
      unitSuffix: true,
      useSecondsForDurations: true,
      histogramBucketOverrides: Object.fromEntries(buckets),
    },
  };
}
