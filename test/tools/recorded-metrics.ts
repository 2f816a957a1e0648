import { type MetricMeter, type MetricTags, noopMetricMeter } from '@temporalio/common';
import { Metrics } from '../../src/temporal/metrics.ts';

/** Metrics whose values a test reads, by name and labels as Prometheus writes them; counters without `_total`. */
export function recordedMetrics(): { metrics: Metrics; values: Map<string, number> } {
  const values = new Map<string, number>();
  const seriesOf = (name: string, tags: MetricTags = {}) => {
    const labels = Object.keys(tags).sort();
    return `${name}{${labels.map((label) => `${label}="${tags[label]}"`).join(',')}}`;
  };
  const add = (name: string) => (value: number, tags?: MetricTags) => {
    const series = seriesOf(name, tags);
    values.set(series, (values.get(series) ?? 0) + value);
  };
  const meter: MetricMeter = {
    withTags: () => meter,
    createCounter: (name, unit, description) => ({
      ...noopMetricMeter.createCounter(name, unit, description),
      add: add(name),
    }),
    createHistogram: (name, type, unit, description) => ({
      ...noopMetricMeter.createHistogram(name, type, unit, description),
      record: (_value, tags) => add(name)(1, tags),
    }),
    createGauge: (name, type, unit, description) => ({
      ...noopMetricMeter.createGauge(name, type, unit, description),
      set: (value, tags) => values.set(seriesOf(name, tags), value),
    }),
  };
  return { metrics: new Metrics(meter), values };
}
