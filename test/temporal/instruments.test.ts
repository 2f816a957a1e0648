import { describe, expect, it } from 'vitest';
import { counters, gauges, histograms, type Instrument } from '../../src/temporal/metrics.ts';

const all: [string, Instrument][] = Object.entries({ ...counters, ...gauges, ...histograms });

describe("docferry's own figures", () => {
  it.each(all)('%s is named by the conventions of Prometheus', (name, { help, labels }) => {
    expect(name).toMatch(/^docferry(_[a-z]+)+$/);
    expect(help).toMatch(/\.$/);
    for (const label of labels) expect(label).toMatch(/^[a-z]+$/);
  });

  it('has no label whose values grow with the work', () => {
    const labels = new Set(all.flatMap(([, { labels }]) => labels));
    expect([...labels].sort()).toEqual([
      'endpoint',
      'kind',
      'org',
      'outcome',
      'project',
      'reason',
      'target',
      'webhook',
    ]);
  });

  it.each(Object.entries(histograms))('%s has ascending buckets', (_name, { buckets }) => {
    expect([...buckets]).toEqual([...new Set(buckets)].sort((a, b) => a - b));
  });
});
