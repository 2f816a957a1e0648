import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Workflows } from '../../src/contract.ts';
import { findFreePort } from '../../src/local/ports.ts';
import { startExport } from '../../src/operations/exports.ts';
import { startSync, syncHandle } from '../../src/operations/syncs.ts';
import { refreshWorkflowId, workflowTypes } from '../../src/rules/workflow-ids.ts';
import { DocferryProcess } from '../tools/docferry-process.ts';
import { type Scene, setScene } from '../tools/scene.ts';
import { PrometheusServer, prometheusProgram } from '../tools/servers/prometheus.ts';
import { webhookSecret } from '../tools/servers/webhook-receiver.ts';
import { useDevServer } from '../tools/temporal/temporal.ts';
import {
  expressionsOfAlerts,
  expressionsOfDashboards,
  groupedBy,
  selectorsIn,
  withoutVariables,
} from './dashboards.ts';

const patient = { interval: 500 };

/** A way to Temporal that can be cut. */
async function cuttableWay(address: string): Promise<{ address: string; cut(): void }> {
  const { hostname, port } = new URL(`tcp://${address}`);
  const sockets: Socket[] = [];
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.push(from);
      from.on('error', () => to.destroy()).pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    server.close();
    for (const socket of sockets.splice(0)) socket.destroy();
  };
  onTestFinished(cut);
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, cut };
}

/** A Prometheus that scrapes this worker, and one that is not there, with the rules of the repository but without their waits. */
async function watching(scene: Scene, metricsPort: number): Promise<PrometheusServer> {
  const rules = readFileSync('deploy/prometheus/alerts.yml', 'utf8')
    .replace(/^ +for: .+\n/gm, '')
    .replaceAll('task_queue="docferry', `task_queue="${scene.taskQueue}`);
  await writeFile(join(scene.folder, 'alerts.yml'), rules);
  const config = readFileSync('deploy/prometheus/prometheus.yml', 'utf8')
    .replaceAll('15s', '1s')
    .replace('["worker:9464"]', `["127.0.0.1:${metricsPort}", "127.0.0.1:9"]`);
  const file = join(scene.folder, 'prometheus.yml');
  await writeFile(file, config);
  const server = await PrometheusServer.start(file, join(scene.folder, 'prometheus'), await findFreePort());
  onTestFinished(() => server.stop());
  return server;
}

async function startWatched(scene: Scene, temporal: string): Promise<{ prometheus: PrometheusServer }> {
  const configFile = join(scene.folder, 'watched.yaml');
  const text = await readFile(scene.configFile, 'utf8');
  await writeFile(configFile, text.replace(scene.config.temporal.address, temporal));
  const port = await findFreePort();
  const worker = new DocferryProcess(['worker', '--metrics', `127.0.0.1:${port}`, '--config', configFile], {
    cwd: scene.folder,
  });
  onTestFinished(() => worker.kill('SIGKILL'));
  await worker.says('worker: ready');
  return { prometheus: await watching(scene, port) };
}

/** A first reading, and an entry that came after it: a worker that starts then knows both delays at once. */
async function refreshed({ client, taskQueue, org, project, folder, configFile, sandbox }: Scene): Promise<void> {
  const worker = new DocferryProcess(['worker', '--config', configFile], { cwd: folder });
  onTestFinished(() => worker.kill('SIGKILL'));
  await worker.says('worker: ready');
  await client.workflow.execute<Workflows['refreshFeedback']>(workflowTypes.refreshFeedback, {
    taskQueue,
    workflowId: refreshWorkflowId(org),
    args: [{ org }],
  });
  sandbox.addEntries(project, { count: 1 });
  await (await startSync(client, taskQueue, { org, project, pass: 'incremental' })).result();
  await worker.kill('SIGTERM');
}

/** Does what leaves traces in every metric: successes, then failures of all kinds. */
async function work(scene: Scene, prometheus: PrometheusServer): Promise<void> {
  const { client, taskQueue, org, project, domain, sandbox } = scene;
  const sweep = { org, project, pass: 'sweep' } as const;
  const exported = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
  await exported.handle.result();
  await (await startSync(client, taskQueue, sweep)).result();
  await expect.poll(() => prometheus.query('docferry_feedback_freshness_seconds'), patient).toHaveLength(1);
  // A workflow that no worker knows fails its task, and a step whose workflow is gone cannot report.
  await client.workflow.start('noSuchWorkflow', { taskQueue, workflowId: `unknown:${org}` });
  sandbox.setFaults({ slowMs: 3_000, failJobs: 1 });
  const before = sandbox.log().length;
  await startSync(client, taskQueue, sweep);
  await expect.poll(() => sandbox.log().length, patient).toBeGreaterThan(before);
  await syncHandle(client, sweep).terminate();
  const failing = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
  await failing.handle.result().catch(() => {});
  sandbox.setFaults({ slowMs: 0, unauthorized: true });
  await startSync(client, taskQueue, sweep);
}

describe.skipIf(prometheusProgram('prometheus') === null)('a worker under a real Prometheus', () => {
  it('shows every metric and label of alerts and dashboards, and fires the alerts that it should', async () => {
    const scene = await setScene({
      sandbox: { jobSeconds: 1, entries: 1_000 },
      job: '{ timeout: 5m, attempts: 1 }',
      refresh: '{ every: 1m, share: 100% }',
      webhooks: `[{ name: down, url: "http://127.0.0.1:9/hook", secret: "${webhookSecret}" }]`,
    });
    onTestFinished(() => scene.end());
    await refreshed(scene);
    const way = await cuttableWay(useDevServer().address);
    const { prometheus } = await startWatched(scene, way.address);
    const firing = async () =>
      (await prometheus.rules()).filter(({ state }) => state === 'firing').map(({ name }) => name);

    await expect.poll(() => prometheus.query('docferry_budget_limit'), patient).toHaveLength(1);
    await expect.poll(firing, patient).toEqual(['DocferryDown']);
    await work(scene, prometheus);
    const expected = ['DocferryDown', 'DocferryExportFailed', 'DocferryKeyRefused', 'DocferryWebhookFailing'];
    await expect.poll(async () => (await firing()).sort(), patient).toEqual(expected);
    for (const { name, health, lastError } of await prometheus.rules())
      expect(health, `${name}: ${lastError}`).toBe('ok');

    const failures = 'temporal_request_failure_total';
    await expect.poll(async () => (await prometheus.query(failures)).length, patient).toBeGreaterThan(0);
    way.cut();
    const polls = 'temporal_long_request_failure_total';
    await expect.poll(async () => (await prometheus.query(polls)).length, patient).toBeGreaterThan(0);

    const series = new Map<string, Set<string>>();
    for (const { where, expr, shown } of [...expressionsOfDashboards(), ...expressionsOfAlerts()]) {
      const alive = new Set<string>();
      for (const { metric, labels } of selectorsIn(expr)) {
        const found = series.get(metric) ?? (await labelsOf(prometheus, metric));
        series.set(metric, found);
        expect(found.size, `${where}: no series ${metric}`).toBeGreaterThan(0);
        for (const label of labels) expect([...found], `${where}: ${metric}`).toContain(label);
        for (const label of found) alive.add(label);
      }
      for (const label of [...groupedBy(expr), ...shown]) expect([...alive], `${where}: ${expr}`).toContain(label);
      await prometheus.query(withoutVariables(expr, scene.org));
    }
    expect(series.size).toBeGreaterThan(30);
  });
});

/** The labels of a metric's series within the last minutes. */
async function labelsOf(prometheus: PrometheusServer, metric: string): Promise<Set<string>> {
  const found = await prometheus.query(`last_over_time(${metric}[10m])`);
  return new Set(found.flatMap((sample) => Object.keys(sample.metric)));
}
