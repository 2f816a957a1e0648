import type { MetricCounter, MetricGauge, MetricHistogram, MetricMeter } from '@temporalio/common';
import { Runtime, type TelemetryOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import { temporalLogger } from './log.ts';

/** docferry's own figures, by the names under which Prometheus reads them (docs/monitoring.md). */
export interface Instrument {
  help: string;
  /** Their values are bounded by the configuration or by a list: never ids of jobs, versions or runs. */
  labels: readonly string[];
}

/** What this process has counted since it began. */
export const counters = {
  docferry_requests_total: {
    help: 'Requests to the documentation service, by how it answered.',
    labels: ['org', 'endpoint', 'outcome'],
  },
  docferry_exports_total: { help: 'Runs of exports and rollbacks that ended.', labels: ['org', 'outcome'] },
  docferry_export_polls_total: { help: 'Polls of export jobs, counted when the run ends.', labels: ['org'] },
  docferry_download_bytes_total: { help: 'Bytes of archives that were downloaded completely.', labels: ['org'] },
  docferry_rollouts_total: {
    help: 'Rollouts of a version to a target, by the kind of the target.',
    labels: ['org', 'target', 'outcome'],
  },
  docferry_feedback_passes_total: { help: 'Passes over feedback that ended.', labels: ['org', 'project', 'outcome'] },
  docferry_feedback_entries_total: {
    help: 'Entries of feedback that passes read, by what became of them.',
    labels: ['org', 'outcome'],
  },
  docferry_webhook_deliveries_total: {
    help: 'Attempts to deliver a message to a webhook.',
    labels: ['org', 'webhook', 'outcome'],
  },
} as const satisfies Record<`docferry_${string}_total`, Instrument>;

/** Read from the budgets and the feedback store, which all workers share: each worker shows the same. */
export const gauges = {
  docferry_budget_used: { help: 'Requests that occupy the window now.', labels: ['org'] },
  docferry_budget_limit: { help: 'Requests that the service allows in a window.', labels: ['org'] },
  docferry_budget_reserve: { help: 'Requests of a window that are left to other clients.', labels: ['org'] },
  docferry_budget_window_seconds: { help: 'Length of the window.', labels: ['org'] },
  docferry_budget_waiters: { help: 'Passes and programs that wait for the budget.', labels: ['org'] },
  docferry_budget_longest_wait_seconds: { help: 'How long the one waits that waits longest.', labels: ['org'] },
  docferry_budget_other_clients: {
    help: 'Requests of a window that other clients are seen to use; 0 while none are known.',
    labels: ['org'],
  },
  docferry_budget_blocked: {
    help: '1 while nothing is granted for this reason: throttled (429), unauthorized (401) or paused.',
    labels: ['org', 'reason'],
  },
  docferry_feedback_freshness_seconds: {
    help: 'Seconds since the newest feedback of the project was read; absent until it was once.',
    labels: ['org', 'project'],
  },
  docferry_feedback_complete_seconds: {
    help: 'Age of the stored entries: seconds since they were last complete; absent or NaN while some may be missing.',
    labels: ['org', 'project'],
  },
  docferry_feedback_expected_delay_seconds: {
    help: 'How late refresh is expected to know changes of this kind: new, new-95 (95 % of new entries), status, silent.',
    labels: ['org', 'project', 'kind'],
  },
  docferry_feedback_measured_delay_seconds: {
    help: 'How late the latest new entries came into the store: new (mean), new-95 (95 % of them).',
    labels: ['org', 'project', 'kind'],
  },
  docferry_shared_state_read_timestamp_seconds: {
    help: 'When budget and feedback store were last read without a failure; the start of the process before that.',
    labels: ['org'],
  },
} as const satisfies Record<`docferry_${string}`, Instrument>;

/** What this process has measured since it began, in seconds. */
export const histograms = {
  docferry_export_job_seconds: {
    help: 'How long jobs took at the service.',
    labels: ['org'],
    buckets: [15, 30, 60, 120, 300, 600, 1_200, 2_400, 3_600, 7_200, 14_400],
  },
  docferry_download_seconds: {
    help: 'How long downloads took in the attempt that completed them.',
    labels: ['org'],
    buckets: [0.3, 1, 3, 10, 30, 60, 180, 600, 1_800, 3_600],
  },
  docferry_verification_seconds: {
    help: 'How long the verification of an archive took, waiting for a processor included.',
    labels: ['org'],
    buckets: [0.1, 0.3, 1, 3, 10, 30, 60, 180, 600],
  },
} as const satisfies Record<`docferry_${string}_seconds`, Instrument & { buckets: readonly number[] }>;

type CounterName = keyof typeof counters;
type GaugeName = keyof typeof gauges;
type HistogramName = keyof typeof histograms;

/** The labels of an instrument with a value for each. */
type LabelsOf<Name extends CounterName | GaugeName | HistogramName> = Record<
  (typeof counters & typeof gauges & typeof histograms)[Name]['labels'][number],
  string
>;

/** docferry's own figures, kept by a meter of Temporal's SDK, which serves them beside its own. */
export class Metrics {
  readonly #counters: Record<CounterName, MetricCounter>;
  readonly #gauges: Record<GaugeName, MetricGauge>;
  readonly #histograms: Record<HistogramName, MetricHistogram>;
  /** Gauges that have had a value. */
  readonly #shown = new Set<string>();

  constructor(meter: MetricMeter) {
    // The exporter appends `_total`.
    this.#counters = eachOf(counters, (name, { help }) =>
      meter.createCounter(name.slice(0, -'_total'.length), undefined, help),
    );
    this.#gauges = eachOf(gauges, (name, { help }) => meter.createGauge(name, 'float', undefined, help));
    this.#histograms = eachOf(histograms, (name, { help }) => meter.createHistogram(name, 'float', undefined, help));
  }

  /** Adds to a counter; 0 makes it appear, so that its first increase is seen as one. */
  add<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, value = 1): void {
    this.#counters[name].add(value, labels);
  }

  /** Sets a gauge. What is not known any more (null) becomes NaN, as the meter drops no series; what never was stays absent. */
  set<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, value: number | null): void {
    const series = JSON.stringify([name, labels]);
    if (value === null && !this.#shown.has(series)) return;
    this.#shown.add(series);
    this.#gauges[name].set(value ?? Number.NaN, labels);
  }

  observe<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>, seconds: number): void {
    this.#histograms[name].record(seconds, labels);
  }

  /** The work's result; how long it took is observed if it succeeds. */
  async timed<Name extends HistogramName, Result>(
    name: Name,
    labels: LabelsOf<Name>,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const since = performance.now();
    const result = await work();
    this.observe(name, labels, (performance.now() - since) / 1_000);
    return result;
  }
}

function eachOf<Name extends string, Value, Made>(
  table: Record<Name, Value>,
  make: (name: Name, value: Value) => Made,
): Record<Name, Made> {
  const entries = Object.entries(table) as [Name, Value][];
  return Object.fromEntries(entries.map(([name, value]) => [name, make(name, value)])) as Record<Name, Made>;
}

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
