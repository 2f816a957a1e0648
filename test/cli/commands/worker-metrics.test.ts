import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findFreePort } from '../../../src/local/ports.ts';
import { startExport } from '../../../src/operations/exports.ts';
import { startSync } from '../../../src/operations/syncs.ts';
import { docferryJson, folderWithConfig } from '../../tools/cli/run-docferry.ts';
import { DocferryProcess } from '../../tools/docferry-process.ts';
import { addClients, tokenOf } from '../../tools/gateway-scene.ts';
import { setScene } from '../../tools/scene.ts';
import { useDevServer } from '../../tools/temporal/temporal.ts';

async function scrape(address: string): Promise<string> {
  const answer = await fetch(`http://${address}/metrics`);
  expect(answer.status).toBe(200);
  return answer.text();
}

async function takenPort(): Promise<number> {
  const port = await findFreePort();
  const server = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => {
    server.close();
  });
  return port;
}

describe('--metrics', () => {
  it("shows the SDK's figures and docferry's of an export and a sync, without ids of jobs, versions or runs", async () => {
    const scene = await setScene({ sandbox: { jobSeconds: 1, entries: 150 } });
    onTestFinished(() => scene.end());
    const port = await findFreePort();
    const args = ['worker', '--metrics', `localhost:${port}`, '--config', scene.configFile];
    const worker = new DocferryProcess(args, { cwd: scene.folder });
    onTestFinished(() => worker.kill('SIGTERM'));
    await worker.says('worker: ready');
    const address = `127.0.0.1:${port}`;
    const { client, taskQueue, org, project, domain } = scene;
    // Before anything has happened, so that the first of each is an increase.
    const before = await scrape(address);
    expect(before).toContain(`docferry_exports_total{org="${org}",outcome="published"} 0`);
    expect(before).toContain(`docferry_requests_total{endpoint="feedback",org="${org}",outcome="rate-limited"} 0`);

    const exported = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    const { jobId, version, runId, archive } = await exported.handle.result();
    const sync = await startSync(client, taskQueue, { org, project, pass: 'sweep' });
    const { entries, requests } = await sync.result();
    const after = await scrape(address);
    for (const series of [
      `docferry_exports_total{org="${org}",outcome="published"} 1`,
      `docferry_rollouts_total{org="${org}",outcome="rolled-out",target="directory"} 1`,
      `docferry_download_bytes_total{org="${org}"} ${archive?.bytes}`,
      `docferry_download_seconds_count{org="${org}"} 1`,
      `docferry_verification_seconds_count{org="${org}"} 1`,
      `docferry_export_job_seconds_count{org="${org}"} 1`,
      `docferry_requests_total{endpoint="start-job",org="${org}",outcome="ok"} 1`,
      `docferry_requests_total{endpoint="feedback",org="${org}",outcome="ok"} ${requests}`,
      `docferry_feedback_entries_total{org="${org}",outcome="inserted"} ${entries.inserted}`,
      `docferry_feedback_passes_total{org="${org}",outcome="completed",project="${project}"} 1`,
    ]) {
      expect(after).toContain(`${series}\n`);
    }
    expect(after).toMatch(/temporal_worker_task_slots_available\{.+worker_type="ActivityWorker"\} \d+/);
    expect(after).toMatch(/temporal_activity_schedule_to_start_latency_seconds_bucket\{/);
    expect(after).toContain(`docferry_budget_limit{org="${org}"} 100`);
    for (const id of [jobId, version, runId, scene.sandbox.apiKey]) expect(after).not.toContain(id);
  });

  it('ends with 2 and the next step when the port is taken', async () => {
    const cwd = await folderWithConfig({ address: useDevServer().address, taskQueue: 'metrics-taken' });
    const port = await takenPort();
    const { exitCode, document } = await docferryJson(['worker', '--metrics', `127.0.0.1:${port}`], { cwd });
    const hint = 'stop that program, or choose another port with --metrics';
    expect(document).toEqual({ error: { code: 'PortTaken', message: `127.0.0.1:${port} is in use`, hint } });
    expect(exitCode).toBe(2);
  });

  it('shows what other programs ask through the gateway', async () => {
    const scene = await setScene();
    onTestFinished(() => scene.end());
    await addClients(scene, { bi: '' });
    await scene.startWorker();
    const [port, metricsPort] = [await findFreePort(), await findFreePort()];
    const args = [
      'gateway',
      '--port',
      `${port}`,
      '--metrics',
      `127.0.0.1:${metricsPort}`,
      '--config',
      scene.configFile,
    ];
    const gateway = new DocferryProcess(args, { cwd: scene.folder });
    await gateway.says('gateway: ready');
    const series = (value: number) =>
      `docferry_requests_total{endpoint="gateway",org="${scene.org}",outcome="ok"} ${value}\n`;
    expect(await scrape(`127.0.0.1:${metricsPort}`)).toContain(series(0));
    const headers = { Authorization: `Bearer ${tokenOf('bi')}` };
    const answer = await fetch(`http://127.0.0.1:${port}/v1/analytics/prj_1/feedback`, { headers });
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
    expect(await scrape(`127.0.0.1:${metricsPort}`)).toContain(series(1));
    await gateway.kill('SIGTERM');
    expect(gateway.child.exitCode).toBe(0);
  });
});
