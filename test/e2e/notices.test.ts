import { mkdir, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook as Verifier } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';
import { approveUpdate } from '../../src/contract.ts';
import { DirectoryBundleStore } from '../../src/exports/store/directory-store.ts';
import { exportHandle, exportState, startExport, startRollback } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { budgetWorkflowId, watchWorkflowId } from '../../src/rules/workflow-ids.ts';
import type { Notice } from '../../src/runs/rules/notices.ts';
import { type Scene, setScene } from '../tools/scene.ts';
import { shapeProblem } from '../tools/servers/chat-shapes.ts';
import { plainHeaders, startReceiver, type WebhookReceiver, webhookSecret } from '../tools/servers/webhook-receiver.ts';
import { devServerEnvironment } from '../tools/temporal/temporal.ts';
import { replayChains } from '../tools/temporal/workflow-run.ts';

let scene: Scene;
let receivers: WebhookReceiver[] = [];
afterEach(async () => {
  await scene?.end();
  await Promise.all(receivers.map((receiver) => receiver.stop()));
  receivers = [];
});

const quick = { interval: 200 };

async function receiver(): Promise<WebhookReceiver> {
  const started = await startReceiver();
  receivers.push(started);
  return started;
}

/** Notices of a type that arrived, verified, in the order they were sent: `begun`, `ended`, … */
function told({ received }: WebhookReceiver, type: string): (Notice & { id: string })[] {
  const verified = received.map(({ body, headers }) => ({
    id: String(headers['webhook-id']),
    ...(new Verifier(webhookSecret).verify(body, plainHeaders(headers)) as {
      type: string;
      timestamp: string;
      data: Notice;
    }),
  }));
  return verified
    .filter((event) => event.type === type)
    .sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1))
    .map(({ id, data }) => ({ id, ...data }));
}
const states = (from: WebhookReceiver, type: string) => told(from, type).map(({ state }) => state);

/** Each notice once, and a beginning between two ends. */
function expectFolded({ received }: WebhookReceiver): void {
  const ids = received.map(({ headers }) => headers['webhook-id']);
  expect(new Set(ids).size).toBe(ids.length);
}

async function runExport(): Promise<string> {
  const { client, taskQueue, org, domain } = scene;
  const { handle } = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
  return handle.result().then(
    ({ outcome }) => outcome,
    () => 'failed',
  );
}

async function runSweep(): Promise<'completed' | 'failed'> {
  const { client, taskQueue, org, project } = scene;
  const sync = await startSync(client, taskQueue, { org, project, pass: 'sweep' });
  return sync.result().then(
    () => 'completed' as const,
    () => 'failed' as const,
  );
}

describe('people are told (X9)', () => {
  it('of what fails and what works again, once each, in the shape their chat takes', async () => {
    const [ops, slack, teams] = [await receiver(), await receiver(), await receiver()];
    scene = await setScene({
      sandbox: { entries: 250, jobSeconds: 0.1, pages: 3, faults: { failJobs: 2, nullCursor: 1 } },
      job: '{ timeout: 5m, attempts: 1 }',
      webhooks: `[{ name: ops, url: "${ops.url}", secret: ${webhookSecret} }, { name: chat, url: "${slack.url}", format: slack }, { name: team, url: "${teams.url}", format: teams }]`,
      watch: { every: '1s', lateAfter: '10s', freshness: '20s' },
    });
    await scene.startWorker();
    const { client, org, project, domain } = scene;
    await expect.poll(() => states(ops, 'export.late')).toEqual(['begun']);
    await expect.poll(() => states(ops, 'feedback.stale')).toEqual(['begun']);

    expect([await runExport(), await runExport(), await runSweep(), await runSweep()]).toEqual(Array(4).fill('failed'));
    await expect.poll(() => states(ops, 'export.failed')).toEqual(['begun']);
    await expect.poll(() => states(ops, 'pass.failed')).toEqual(['begun']);
    expect(told(ops, 'export.failed')).toMatchObject([
      {
        org,
        subject: domain,
        reason: expect.stringMatching(/^the service says: /),
        command: `docferry export status ${domain}`,
      },
    ]);
    expect(told(ops, 'pass.failed')).toMatchObject([{ subject: `${project}/sweep`, reason: expect.any(String) }]);

    scene.sandbox.setFaults({ nullCursor: 0 });
    // A first sweep of few pages has no request left to prove that it missed nothing: the second one proves it.
    expect([await runExport(), await runSweep(), await runSweep()]).toEqual(['published', 'completed', 'completed']);
    const types = ['export.failed', 'pass.failed', 'export.late', 'feedback.stale'];
    const firstTwo = () => types.map((type) => [type, ...states(ops, type).slice(0, 2)]);
    await expect.poll(firstTwo).toEqual(types.map((type) => [type, 'begun', 'ended']));
    expect(told(ops, 'export.failed')[1]).toMatchObject({ command: null, since: told(ops, 'export.failed')[0]?.since });

    // A person holds the site and releases it, past every workflow; the watch sees it.
    const bundles = await DirectoryBundleStore.open({
      root: join(scene.folder, 'data/bundles'),
      publicUrl: 'http://x',
    });
    await bundles.holds.place(domain, { version: null, reason: 'because of Jane Doe', at: new Date() });
    await expect.poll(() => states(ops, 'site.held')).toEqual(['begun']);
    await bundles.holds.release(domain);
    await expect.poll(() => states(ops, 'site.held')).toEqual(['begun', 'ended']);

    // The operator puts an earlier version back at the target by hand; several looks tell it once. The next export puts that right.
    const site = join(scene.folder, 'site');
    const earlier = '20200101T000000Z-000000000000';
    await mkdir(join(site, 'releases', earlier));
    await symlink(`releases/${earlier}`, join(site, 'back'));
    await rename(join(site, 'back'), join(site, 'current'));
    await expect.poll(() => states(ops, 'rollout.drifted')).toEqual(['begun']);
    const version = (await bundles.current(domain))?.version;
    expect(told(ops, 'rollout.drifted')).toMatchObject([
      {
        subject: domain,
        reason: `directory:./site runs ${earlier} instead of ${version}`,
        command: `docferry export start ${domain} --wait`,
        facts: { version, targets: 1 },
      },
    ]);
    expect(await runExport()).toBe('unchanged');
    await expect.poll(() => states(ops, 'rollout.drifted')).toEqual(['begun', 'ended']);

    // The key is refused and accepted again.
    scene.sandbox.setFaults({ unauthorized: true });
    const waiting = runExport();
    await expect.poll(() => states(ops, 'key.refused')).toEqual(['begun']);
    scene.sandbox.setFaults({ unauthorized: false });
    await client.workflow.getHandle(`export:${org}:${domain}`).signal('retryKey');
    expect(await waiting).toBe('unchanged');
    await expect.poll(() => states(ops, 'key.refused')).toEqual(['begun', 'ended']);

    expectFolded(ops);
    const all = ops.received.map(({ body }) => body).join('\n');
    expect(all).not.toContain('Jane');
    const [heard] = [slack, teams].map(({ received }) => received.length);
    expect(heard).toBeGreaterThan(8);
    expect(slack.received.map(({ body }) => shapeProblem('slack', body))).toEqual(slack.received.map(() => null));
    expect(teams.received.map(({ body }) => shapeProblem('teams', body))).toEqual(teams.received.map(() => null));
    expect(slack.received.some(({ headers }) => 'webhook-signature' in headers)).toBe(false);
    // Every run's own events go to the standard only.
    await expect.poll(() => states(ops, 'export.finished').length).toBe(5);
    expect(JSON.stringify(slack.received)).not.toContain('the export ended');

    const query = `WorkflowId STARTS_WITH "${watchWorkflowId(org)}-" AND ExecutionStatus = "Completed"`;
    let looks = 0;
    for await (const look of client.workflow.list({ query, pageSize: 2 })) {
      await replayChains(await devServerEnvironment(), [look]);
      looks += 1;
      if (looks === 2) break;
    }
    expect(looks).toBe(2);
  });

  it('of a version that waits for approval, in time, of a rollback and of a rollout that failed', {
    timeout: 180_000,
  }, async () => {
    const ops = await receiver();
    scene = await setScene({
      sandbox: { jobSeconds: 0.1, pages: 5 },
      approvalTimeout: '12s',
      webhooks: `[{ url: "${ops.url}", secret: ${webhookSecret} }]`,
      watch: { every: '1s' },
    });
    await scene.startWorker();
    const { client, taskQueue, org, domain, sandbox } = scene;
    const first = runExport();
    await expect.poll(() => states(ops, 'approval.wanted'), quick).toEqual(['begun']);
    const { approval } = await exportState(client, org, domain);
    expect(told(ops, 'approval.wanted')).toMatchObject([
      {
        subject: domain,
        command: `docferry export approve ${domain}`,
        facts: { version: approval?.version, pagesAdded: 6, pagesRemoved: 0, expiresAt: expect.any(String) },
      },
    ]);
    await exportHandle(client, org, domain).executeUpdate(approveUpdate, {
      args: [{ version: approval?.version ?? '' }],
    });
    expect(await first).toBe('published');
    await expect.poll(() => told(ops, 'approval.wanted')).toMatchObject([{}, { state: 'ended', reason: 'approved' }]);
    expect(states(ops, 'approval.expiring')).toEqual([]);

    // Nobody decides about the second one.
    sandbox.publishRevision(domain);
    expect(await runExport()).toBe('rejected');
    await expect.poll(() => states(ops, 'approval.wanted')).toEqual(['begun', 'ended', 'begun', 'ended']);
    expect(told(ops, 'approval.wanted')[3]).toMatchObject({ reason: expect.stringMatching(/^not decided in time/) });
    expect(states(ops, 'approval.expiring')).toEqual(['begun']);
    expect(states(ops, 'export.refused')).toEqual([]);

    const version = approval?.version ?? '';
    const how = { onRunning: 'refuse', beforeCancel: async () => {} } as const;
    const { handle } = await startRollback(client, taskQueue, { org, domain, version, reason: 'for Jane' }, how);
    await handle.result();
    await expect
      .poll(() => told(ops, 'site.rolled-back'))
      .toMatchObject([{ state: 'happened', facts: { version }, decided: { why: 'for Jane' } }]);
    // The hold is part of that message; its end is told.
    const bundles = await DirectoryBundleStore.open({
      root: join(scene.folder, 'data/bundles'),
      publicUrl: 'http://x',
    });
    await bundles.holds.release(domain);
    await expect.poll(() => states(ops, 'site.held').at(-1)).toBe('ended');
    expectFolded(ops);
  });

  it('once that a webhook is gone, which is not asked again until its settings change', {
    timeout: 120_000,
  }, async () => {
    const [ops, gone] = [await receiver(), await receiver()];
    gone.answers.push({ status: 410 });
    scene = await setScene({
      sandbox: { entries: 10 },
      webhooks: `[{ name: ops, url: "${ops.url}", secret: ${webhookSecret} }, { name: old, url: "${gone.url}", secret: ${webhookSecret} }]`,
      watch: { every: '1s' },
    });
    await scene.startWorker();
    expect(await runSweep()).toBe('completed');
    await expect.poll(() => told(ops, 'webhook.gone')).toMatchObject([{ subject: 'old', state: 'begun' }]);
    expect([await runSweep(), await runSweep()]).toEqual(['completed', 'completed']);
    await expect.poll(() => told(ops, 'feedback.pass.finished').length).toBe(3);
    expect(gone.received).toHaveLength(1);
    expect(states(ops, 'webhook.gone')).toEqual(['begun']);
  });
});

it('a worker stops while a look waits for a budget that nobody answers for', async () => {
  scene = await setScene({
    webhooks: `[{ url: "${(await receiver()).url}", secret: ${webhookSecret} }]`,
    watch: { every: '1s' },
  });
  const { client, org, taskQueue } = scene;
  const args = [{ org }];
  await client.workflow.start('rateBudget', {
    workflowId: budgetWorkflowId(org),
    taskQueue: `${taskQueue}-none`,
    args,
  });
  const worker = await scene.startWorker();
  const look = async () => {
    const query = `WorkflowId STARTS_WITH "${watchWorkflowId(org)}-" AND ExecutionStatus = "Running"`;
    for await (const { workflowId } of client.workflow.list({ query })) {
      const { raw } = await client.workflow.getHandle(workflowId).describe();
      if (raw.pendingActivities?.length) return workflowId;
    }
    return null;
  };
  await expect.poll(look, quick).not.toBeNull();
  await worker.stop();
  expect(worker.state()).toBe('STOPPED');
});
