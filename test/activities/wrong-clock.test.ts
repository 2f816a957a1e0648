import { afterEach, describe, expect, it, vi } from 'vitest';
import { createApprovalActivities } from '../../src/activities/export-steps.ts';
import { createPassActivities } from '../../src/activities/feedback-passes.ts';
import { createWebhookActivities } from '../../src/activities/notices.ts';
import { noEntries } from '../../src/feedback/rules/feedback-entry.ts';
import { type ActivityScene, activityScene, failureOf, mockActivity } from '../tools/activity-dependencies.ts';
import { startReceiver, webhookSecret } from '../tools/servers/webhook-receiver.ts';

let scene: ActivityScene;
afterEach(async () => {
  await scene?.end();
});

const domain = 'docs.acme.example';
/** By Temporal's clock; that of the worker of these tests is three days ahead. */
const now = Date.now() - 3 * 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString();
const atTemporalsTime = () =>
  mockActivity({
    currentAttemptScheduledTimestampMs: now,
    workflowExecution: { workflowId: 'elsewhere', runId: 'r1' },
  });

describe('a worker whose clock is ahead', () => {
  it('removes no personal data before its time', async () => {
    scene = await activityScene();
    const { beginPass, finishPass } = createPassActivities(scene.deps);
    const ids = { org: 'acme', project: 'prj_1', passId: 'p1' };
    await atTemporalsTime().run(() => beginPass({ ...ids, pass: 'sweep', startedAt: now }));
    const storeId = scene.deps.feedback.identity;
    const expire = vi.spyOn(scene.deps.feedback, 'expire');
    const counts = { pages: 0, requests: 0, throttled: 0, waitedMs: 0, entries: noEntries };
    const end = { outcome: 'failed', error: 'NetworkError', finishedAt: now + 1_000 } as const;
    await atTemporalsTime().run(finishPass, { ...ids, storeId, ...counts, ...end });
    expect(expire.mock.calls).toEqual([[['prj_1'], new Date(now + 1_000)]]);
  });

  it('says until when a version waits for approval', async () => {
    scene = await activityScene();
    scene.deps.bundles.manifest = async () => ({ files: [] }) as never;
    const storeId = scene.deps.bundles.identity;
    const asked = {
      org: 'acme',
      domain,
      storeId,
      version: 'v1',
      against: null,
      timeoutMs: 60_000,
      asks: [],
      again: null,
    };
    await atTemporalsTime().run(createApprovalActivities(scene.deps).describeChanges, asked);
    expect(await scene.deps.feedback.noticeRows('acme')).toMatchObject([
      { type: 'approval.wanted', since: iso(now), until: iso(now + 60_000) },
    ]);
  });

  it('says since when a receiver is gone', async () => {
    const receiver = await startReceiver();
    receiver.answers.push({ status: 410 });
    const [url, secret] = [() => receiver.url, () => webhookSecret];
    const webhooks = [{ name: 'ops', format: 'standard' as const, events: ['export.failed'] as const, url, secret }];
    scene = await activityScene({}, undefined, { webhooks });
    const { sendWebhook } = createWebhookActivities(scene.deps);
    const facts = {
      org: 'acme',
      subject: domain,
      state: 'begun' as const,
      since: iso(now),
      reason: null,
      command: null,
      facts: {},
    };
    const event = { type: 'export.failed' as const, timestamp: iso(now), data: facts };
    await failureOf(atTemporalsTime().run(sendWebhook, { org: 'acme', webhook: 'ops', messageId: 'm1', event }));
    expect(await scene.deps.feedback.noticeRows('acme')).toMatchObject([{ type: 'webhook.gone', since: iso(now) }]);
    await receiver.stop();
  });
});
