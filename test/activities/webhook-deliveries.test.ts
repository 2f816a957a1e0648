import { Webhook as Verifier } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createWebhookActivities } from '../../src/activities/notices.ts';
import type { WebhookDelivery } from '../../src/runs/rules/webhook-event.ts';
import {
  type ActivityScene,
  activityScene,
  afterFailures,
  failureOf,
  mockActivity,
} from '../tools/activity-dependencies.ts';
import { recordedMetrics } from '../tools/recorded-metrics.ts';
import { plainHeaders, startReceiver, type WebhookReceiver, webhookSecret } from '../tools/servers/webhook-receiver.ts';

let scene: ActivityScene;
let receiver: WebhookReceiver;
let configured: { url: string; secret: string };

beforeEach(async () => {
  receiver = await startReceiver();
  configured = { url: receiver.url, secret: webhookSecret };
  const webhook = {
    name: 'ops',
    format: 'standard' as const,
    events: ['export.finished'] as const,
    url: () => configured.url,
    secret: () => configured.secret,
  };
  scene = await activityScene({}, undefined, { webhooks: [webhook] });
});
afterEach(async () => {
  await scene.end();
  await receiver.stop();
});

const delivery: WebhookDelivery = {
  org: 'acme',
  webhook: 'ops',
  messageId: 'msg_1',
  event: {
    type: 'export.finished',
    timestamp: '2026-11-21T04:02:00.000Z',
    data: {
      org: 'acme',
      domain: 'docs.acme.example',
      outcome: 'published',
      version: '20261121T040200Z-3f9a2c1b8e7d',
      contentDigest: 'ab',
      url: 'http://localhost:8090/docs.acme.example/versions/20261121T040200Z-3f9a2c1b8e7d/bundle.zip',
      held: null,
      workflowId: 'export:acme:docs.acme.example',
      runId: 'r',
    },
  },
};

const send = (attempt = 1, more: Partial<WebhookDelivery> = {}, failures = {}) => {
  const { sendWebhook } = createWebhookActivities(scene.deps);
  return mockActivity({ attempt, ...failures }).run(sendWebhook, { ...delivery, ...more });
};

/** What stands in a history must name neither the address nor what was answered. */
function expectNothingTold(message: string): void {
  for (const secret of [receiver.token, new URL(receiver.url).host, '127.0.0.1', webhookSecret, 'inner words']) {
    expect(message).not.toContain(secret);
  }
}

describe('a message', () => {
  it('is signed so that the library of Standard Webhooks verifies it, with an id of its own', async () => {
    expect(await send(3)).toEqual({ messageId: 'msg_1', status: 204, attempts: 3 });
    const [message, ...more] = receiver.received;
    expect(more).toEqual([]);
    expect(message?.headers['webhook-id']).toBe('msg_1');
    expect(message?.headers['content-type']).toBe('application/json');
    const headers = plainHeaders(message?.headers ?? {});
    expect(new Verifier(webhookSecret).verify(message?.body ?? '', headers)).toEqual(delivery.event);
  });

  it('is counted with each attempt to deliver it', async () => {
    const { metrics, values } = recordedMetrics();
    scene.deps.metrics = metrics;
    receiver.answers.push({ status: 503 }, { status: 410 }, { status: 204 });
    for (const _ of receiver.answers.slice(0, 2)) await failureOf(send());
    scene.deps.feedback.noticeRows = async () => [];
    await send();
    const series = ['retried', 'given-up', 'accepted'].map(
      (outcome) => `docferry_webhook_deliveries{org="acme",outcome="${outcome}",webhook="ops"}`,
    );
    expect([...values]).toEqual(series.map((name) => [name, 1]));
  });

  it('is not sent by an attempt that Temporal has given up (E11)', async () => {
    scene.deps.recordHeartbeat = async () => 'over';
    expect(await failureOf(send())).toMatchObject({ type: 'WorkerShutdown', nonRetryable: false });
    expect(receiver.received).toEqual([]);
  });

  it('is not verified with another key, or when a letter of it was changed', async () => {
    await send();
    const [message] = receiver.received;
    const headers = plainHeaders(message?.headers ?? {});
    const other = new Verifier(`whsec_${Buffer.alloc(24, 'x').toString('base64')}`);
    expect(() => other.verify(message?.body ?? '', headers)).toThrow('No matching signature');
    const changed = message?.body.replace('published', 'unchanged') ?? '';
    expect(() => new Verifier(webhookSecret).verify(changed, headers)).toThrow('No matching signature');
  });

  it('has the same id and body each time', async () => {
    receiver.answers.push({ status: 503 });
    await failureOf(send(1));
    await send(2);
    const [first, second] = receiver.received;
    expect([second?.body, second?.headers['webhook-id']]).toEqual([first?.body, first?.headers['webhook-id']]);
  });
});

describe('a receiver', () => {
  it.each([500, 502, 503, 408])('that answers %i is asked again', async (status) => {
    receiver.answers.push({ status, body: 'inner words' });
    const failure = await failureOf(send(100));
    expect(failure).toMatchObject({ type: 'WebhookRefused', nonRetryable: false });
    expect(failure?.message).toBe(`the webhook ops of acme answered ${status}`);
  });

  it('that asks for time is given it', async () => {
    receiver.answers.push({ status: 429, headers: { 'retry-after': '120' } });
    expect(await failureOf(send())).toMatchObject({ nonRetryable: false, nextRetryDelay: 120_000 });
  });

  it('that is gone is not asked again', async () => {
    receiver.answers.push({ status: 410 });
    expect(await failureOf(send())).toMatchObject({ type: 'WebhookRefused', nonRetryable: true });
  });

  it.each([400, 401, 404, 302])(
    'that answers %i is asked a few times, and redirects are not followed',
    async (status) => {
      const headers = { location: `${receiver.url}/elsewhere` };
      receiver.answers.push({ status, headers, body: 'inner words' }, { status, headers });
      const failure = await failureOf(send(1));
      expect(failure).toMatchObject({ type: 'WebhookRefused', nonRetryable: false });
      expectNothingTold(failure?.message ?? '');
      expect(await failureOf(send(30, {}, afterFailures('refused', 7)))).toMatchObject({
        type: 'WebhookRefused',
        nonRetryable: true,
      });
      expect(receiver.received.map(({ path }) => path)).toEqual(Array(2).fill(new URL(receiver.url).pathname));
    },
  );

  it('that is down is asked again, and the failure does not say where it is', async () => {
    await receiver.stop();
    const failure = await failureOf(send());
    expect(failure).toMatchObject({ type: 'WebhookUnreachable', nonRetryable: false });
    expect(failure?.message).toBe('the webhook ops of acme cannot be reached: ECONNREFUSED');
    expect(failure?.cause).toBeUndefined();
    receiver = await startReceiver();
  });

  it('that is not configured any more, or not well, is not asked at all', async () => {
    // Another worker may have a newer configuration.
    const removed = (times: number) => {
      const before = afterFailures('unconfigured', times - 1);
      return failureOf(send(times, { webhook: 'gone' }, before));
    };
    expect(await removed(1)).toMatchObject({ type: 'InvalidInput', nonRetryable: false });
    expect(await removed(31)).toMatchObject({ type: 'InvalidInput', nonRetryable: true });
    configured.secret = '';
    const failure = await failureOf(send());
    expect(failure).toMatchObject({ type: 'InvalidInput', nonRetryable: true });
    expectNothingTold(failure?.message ?? '');
    expect(receiver.received).toEqual([]);
  });
});
