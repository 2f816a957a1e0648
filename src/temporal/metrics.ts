import type { MetricCounter, MetricGauge, MetricHistogram, MetricMeter } from '@temporalio/common';
import {
  type CounterName,
  counters,
  type GaugeName,
  gauges,
  type HistogramName,
  histograms,
  type LabelsOf,
} from './instruments.ts';

/** docferry's own figures, kept by a meter of Temporal's SDK, which serves them beside its own. */
export class Metrics {
  readonly #counters: Record<CounterName, MetricCounter>;
  readonly #gauges: Record<GaugeName, MetricGauge>;
  readonly #histograms: Record<HistogramName, MetricHistogram>;

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

  set<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, value: number): void {
    this.#gauges[name].set(value, labels);
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
