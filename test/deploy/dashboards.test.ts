import { describe, expect, it } from 'vitest';
import { counters, gauges, histograms } from '../../src/temporal/metrics.ts';
import { dashboards, expressionsOfAlerts, expressionsOfDashboards, groupedBy, selectorsIn } from './dashboards.ts';

const expressions = [...expressionsOfDashboards(), ...expressionsOfAlerts()];

/** Labels of docferry's own metrics, by the name of the series. */
const own = new Map<string, readonly string[]>([
  ...Object.entries({ ...counters, ...gauges }).map(([name, { labels }]) => [name, labels] as const),
  ...Object.entries(histograms).map(([name, { labels }]) => [`${name}_bucket`, [...labels, 'le']] as const),
]);

describe('deploy/grafana and deploy/prometheus', () => {
  it('has the three dashboards, whose panels neither overlap nor share an id', () => {
    expect(dashboards.map(({ uid }) => uid).sort()).toEqual([
      'docferry-fleet',
      'docferry-organization',
      'docferry-worker',
    ]);
    for (const { panels, uid } of dashboards) {
      const places = panels.map(({ gridPos: { x, y } }) => `${x},${y}`);
      expect(new Set(places).size, uid).toBe(panels.length);
      expect(new Set(panels.map(({ id }) => id)).size, uid).toBe(panels.length);
    }
  });

  it.each(expressions)("$where uses docferry's own metrics and their labels", ({ expr, shown }) => {
    const selectors = selectorsIn(expr);
    expect(selectors.length).toBeGreaterThan(0);
    for (const { metric, labels } of selectors.filter(({ metric }) => metric.startsWith('docferry_'))) {
      expect([...own.keys()]).toContain(metric);
      for (const label of labels) expect(own.get(metric)).toContain(label);
    }
    const kept = groupedBy(expr);
    if (kept.length > 0) for (const label of shown) expect(kept).toContain(label);
  });

  it.each(expressions)('$where takes the most of what all workers show alike, never the sum', ({ expr }) => {
    const shared = Object.keys(gauges).join('|');
    const used = expr.match(new RegExp(`(\\w+)( by \\([^)]*\\))? ?\\((${shared})\\b`, 'g')) ?? [];
    const all = expr.match(new RegExp(`\\b(${shared})\\b`, 'g')) ?? [];
    expect(used.length).toBe(all.length);
    for (const use of used) expect(use).toMatch(/^max by \(/);
  });

  it('shows every metric of docferry on a dashboard', () => {
    const shown = new Set(
      expressionsOfDashboards().flatMap(({ expr }) => selectorsIn(expr).map(({ metric }) => metric)),
    );
    expect([...own.keys()].filter((name) => !shown.has(name))).toEqual([]);
  });
});
