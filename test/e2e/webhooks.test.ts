import { Webhook as Verifier } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';
import { startExport } from '../../src/operations/exports.ts';
import { startOrJoinSync, startSync, syncHandle } from '../../src/operations/syncs.ts';
import { type Scene, setScene } from '../tools/scene.ts';
import {
  plainHeaders,
  type ReceivedMessage,
  startReceiver,
  type WebhookReceiver,
  webhookSecret,
} from '../tools/servers/webhook-receiver.ts';
import { devServerEnvironment } from '../tools/temporal/temporal.ts';
import { replayChains } from '../tools/temporal/workflow-run.ts';

let scene: Scene;
let receiver: WebhookReceiver;
afterEach(async () => {
  await scene?.end();
  await receiver?.stop();
});

const verified = ({ body, headers }: ReceivedMessage): unknown =>
  new Verifier(webhookSecret).verify(body, plainHeaders(headers));

/** Deliveries of the scene by the name of the webhook, once `count` are there. */
async function deliveries(count: number): Promise<{ workflowId: string; runId: string; status: string }[]> {
  const query = `WorkflowType = "deliverWebhook" AND DocferryOrg = "${scene.org}"`;
  const list = async () => {
    const found: { workflowId: string; runId: string; status: string }[] = [];
    for await (const { workflowId, runId, status } of scene.client.workflow.list({ query })) {
      found.push({ workflowId, runId, status: status.name });
    }
    return found.sort((a, b) => (a.workflowId < b.workflowId ? -1 : 1));
  };
  await expect.poll(async () => (await list()).length).toBe(count);
  return list();
}

describe('webhooks', () => {
  it('tell of a finished pass and export in counts, tried until accepted, and hold nobody up', async () => {
    receiver = await startReceiver();
    receiver.answers.push({ status: 503 }, { status: 500 });
    const down = 'http://127.0.0.1:1/nobody';
    scene = await setScene({
      sandbox: { entries: 250, jobSeconds: 0.2 },
      webhooks: `[{ name: ops, url: "${receiver.url}", secret: ${webhookSecret} }, { name: down, url: "${down}", secret: ${webhookSecret}, events: [feedback.pass.finished] }]`,
    });
    await scene.startWorker();
    const { client, taskQueue, org, project, domain } = scene;
    const { handle: sync, runId } = await startOrJoinSync(client, taskQueue, {
      org,
      project,
      pass: 'sweep',
    });
    const result = await sync.result();
    // The pass is done while both receivers refuse still.
    expect(receiver.received.length).toBeLessThan(3);

    await expect.poll(() => receiver.received.length).toBe(3);
    const [first, second, third] = receiver.received;
    expect(third && verified(third)).toMatchObject({
      type: 'feedback.pass.finished',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      data: {
        org,
        project,
        pass: 'sweep',
        outcome: 'completed',
        pages: 3,
        requests: result.requests,
        entries: { seen: 250, inserted: 250 },
        watermark: result.watermark,
        verifiedUpTo: result.verifiedUpTo,
        workflowId: `sync:${org}:${project}:sweep`,
        runId: result.runId,
      },
    });
    const ids = [first, second, third].map((message) => message?.headers['webhook-id']);
    expect(new Set(ids).size).toBe(1);
    expect(first?.body).toBe(third?.body);
    const told = await deliveries(2);
    expect(told.map(({ workflowId }) => workflowId.split(':')[2])).toEqual(['down', 'ops']);
    await expect.poll(async () => (await deliveries(2))[1]?.status).toBe('COMPLETED');
    expect(await deliveries(2)).toMatchObject([{ status: 'RUNNING' }, { status: 'COMPLETED' }]);

    const { handle } = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    const exported = await handle.result();
    await expect.poll(() => receiver.received.length).toBe(4);
    expect(receiver.received[3] && verified(receiver.received[3])).toMatchObject({
      type: 'export.finished',
      data: {
        org,
        domain,
        outcome: 'published',
        version: exported.version,
        contentDigest: exported.contentDigest,
        url: exported.url,
      },
    });
    const env = await devServerEnvironment();
    const [, ops] = await deliveries(3);
    if (ops) await replayChains(env, [ops]);
    await replayChains(env, [{ workflowId: sync.workflowId, runId: runId ?? '' }]);
  });

  it('tell of passes that failed or were cancelled', async () => {
    receiver = await startReceiver();
    scene = await setScene({
      sandbox: { entries: 500, requests: 2, windowMs: 60_000, faults: { nullCursor: 1 } },
      budget: '{ requests: 4, window: 60s, arrival: 1s }',
      webhooks: `[{ url: "${receiver.url}", secret: ${webhookSecret}, events: [feedback.pass.finished] }]`,
    });
    await scene.startWorker();
    const { client, taskQueue, org, project } = scene;
    const input = { org, project, pass: 'sweep' as const, class: 'on-demand' as const };
    await expect((await startSync(client, taskQueue, input)).result()).rejects.toThrow();
    await expect.poll(() => receiver.received.length).toBe(1);
    expect(receiver.received.map(verified)).toMatchObject([{ data: { outcome: 'failed', org } }]);

    const second = await startSync(client, taskQueue, input);
    await expect.poll(async () => (await second.describe()).historyLength).toBeGreaterThan(10);
    await syncHandle(client, input).cancel();
    await expect(second.result()).rejects.toThrow();
    await expect.poll(() => receiver.received.length).toBe(2);
    expect(receiver.received.map(verified)[1]).toMatchObject({ data: { outcome: 'cancelled' } });
  });
});
