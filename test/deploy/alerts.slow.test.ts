import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { tempFolder } from '../tools/bundle/temp-folder.ts';
import { prometheusProgram, promtool } from '../tools/servers/prometheus.ts';
import { alertCases, healthyPollers } from './alert-cases.ts';

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}

const file = resolve('deploy/prometheus/alerts.yml');
const { groups }: { groups: { rules: Rule[] }[] } = parse(readFileSync(file, 'utf8'));
const rules = groups.flatMap((group) => group.rules);

/** A test for promtool: of all alerts, exactly `firing` fires half an hour after the series began. */
function promtoolTest(name: string, series: readonly string[], firing: readonly string[]) {
  const input = series.map((line) => {
    const [, selector, values] = /^(\S+\}) (.+)$/.exec(line) ?? [];
    return { series: selector, values };
  });
  return {
    name,
    interval: '1m',
    input_series: input,
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: '30m',
        exp_samples: firing.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
      },
    ],
  };
}

describe.skipIf(prometheusProgram('promtool') === null)('deploy/prometheus', () => {
  it('has rules and a configuration that Prometheus accepts', () => {
    expect(promtool('check', 'rules', file)).toContain(`${rules.length} rules found`);
    expect(promtool('check', 'config', 'deploy/prometheus/prometheus.yml')).toContain('SUCCESS');
  });

  it('has a case of firing and one of not firing for every alert', () => {
    expect(Object.keys(alertCases)).toEqual(rules.map(({ alert }) => alert));
  });

  it('fires each alert for its case, no other beside it, and none when all is well', async () => {
    const tests = Object.entries(alertCases).flatMap(([alert, { fires, quiet, alsoFires = fires }]) => {
      const others = alert === 'DocferryNoPollers' ? [] : healthyPollers;
      return [
        promtoolTest(`${alert} fires`, [...fires, ...others], [alert]),
        promtoolTest(`${alert} also fires`, [...alsoFires, ...others], [alert]),
        promtoolTest(`${alert} stays quiet`, [...quiet, ...others], []),
      ];
    });
    const folder = await tempFolder();
    const testFile = join(folder, 'alerts-test.yml');
    await writeFile(testFile, stringify({ rule_files: [file], evaluation_interval: '1m', tests }));
    expect(promtool('test', 'rules', testFile)).toContain('SUCCESS');
  });

  it('leads from every alert to its runbook', () => {
    const page = readFileSync('docs/monitoring.md', 'utf8');
    for (const { alert, annotations, labels } of rules) {
      expect(annotations.runbook_url).toBe(`docs/monitoring.md#${alert.toLowerCase()}`);
      expect(page, alert).toContain(`### ${alert}\n`);
      expect(['page', 'ticket', 'info']).toContain(labels.severity);
    }
  });
});
