import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** An expression of a dashboard or an alert. */
interface Expression {
  /** E.g. `fleet: Rollouts`. */
  where: string;
  expr: string;
  /** Labels that its legend or its summary shows. */
  shown: string[];
}

interface Dashboard {
  uid: string;
  title: string;
  templating: { list: { name: string; type: string; query: string | { query: string } }[] };
  panels: {
    id: number;
    title: string;
    gridPos: { x: number; y: number; w: number; h: number };
    targets: { expr: string; legendFormat: string }[];
  }[];
}

const folder = 'deploy/grafana';

export const dashboards: Dashboard[] = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')));

export function expressionsOfDashboards(): Expression[] {
  return dashboards.flatMap(({ uid, panels }) =>
    panels.flatMap(({ title, targets }) =>
      targets.map(({ expr, legendFormat }) => ({ where: `${uid}: ${title}`, expr, shown: labelsIn(legendFormat) })),
    ),
  );
}

export function expressionsOfAlerts(): Expression[] {
  const { groups }: { groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[] } =
    parse(readFileSync('deploy/prometheus/alerts.yml', 'utf8'));
  return groups.flatMap(({ rules }) =>
    rules.map(({ alert, expr, annotations }) => ({
      where: alert,
      expr,
      shown: [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label),
    })),
  );
}

/** The metrics of an expression with the labels by which it selects them. */
export function selectorsIn(expr: string): { metric: string; labels: string[] }[] {
  return [...expr.matchAll(/\b((?:docferry|temporal)_\w+|up)\b(?:\{([^}]*)\})?/g)].map(
    ([, metric = '', matchers = '']) => ({
      metric,
      labels: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
    }),
  );
}

/** The labels by which an expression groups. */
export function groupedBy(expr: string): string[] {
  return [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(/,\s*/));
}

/** With a value in place of each variable of the dashboard. */
export function withoutVariables(expr: string, org: string): string {
  return expr.replaceAll('$__rate_interval', '1m').replaceAll('$org', org).replaceAll('$instance', '.+');
}

const labelsIn = (legend: string): string[] => [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
