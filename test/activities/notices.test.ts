import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApprovalActivities } from '../../src/activities/export-steps.ts';
import { createRecordActivities, createWebhookActivities, sendDueNotices } from '../../src/activities/notices.ts';
import { createWatchActivities } from '../../src/activities/watch-steps.ts';
import type { ExportRunRow } from '../../src/feedback/store/run-records.ts';
import type { LastLook } from '../../src/runs/rules/notices.ts';
import { type WebhookEvent, type WebhookFormat, webhookEventTypes } from '../../src/runs/rules/webhook-event.ts';
import type { CutRun } from '../../src/runs/watches.ts';
import {
  type ActivityScene,
  activityScene,
  afterFailures,
  failureOf,
  mockActivity,
} from '../tools/activity-dependencies.ts';
import { startReceiver, type WebhookReceiver, webhookSecret } from '../tools/servers/webhook-receiver.ts';

let scene: ActivityScene;
let receiver: WebhookReceiver;
let url: string;

const webhook = (name: string, format: WebhookFormat = 'standard') => ({
  name,
  format,
  events: webhookEventTypes,
  url: () => url,
  secret: () => (format === 'standard' ? webhookSecret : null),
});

beforeEach(async () => {
  receiver = await startReceiver();
  url = receiver.url;
  scene = await activityScene({}, undefined, { webhooks: [webhook('ops'), webhook('chat', 'slack')] });
});
afterEach(async () => {
  await scene.end();
  await receiver.stop();
});

const row = (runId: string, minute: number, outcome: ExportRunRow['outcome']): ExportRunRow => ({
  workflowId: 'export:acme:docs.acme.example',
  runId,
  org: 'acme',
  domain: 'docs.acme.example',
  startedAt: `2026-11-21T08:0${minute}:00.000Z`,
  finishedAt: `2026-11-21T08:0${minute}:30.000Z`,
  outcome,
  jobId: 'job_1',
  jobsStarted: 1,
  version: null,
  contentDigest: null,
  polls: 1,
  detail: '{"error":"JobFailed: it failed"}',
  jobMs: null,
});
const firstLook = (since: number): LastLook => ({ since, absent: [], at: null });
const record = (ended: ExportRunRow) => mockActivity().run(createRecordActivities(scene.deps).recordExportRun, ended);
const tellDue = (at = new Date()) => mockActivity().run(() => sendDueNotices(scene.deps, 'acme', at));
const open = async () => (await scene.deps.feedback.noticeRows('acme')).filter((row) => row.open);
/** `ops export.failed begun` of the messages whose delivery was started, those that are repeats left out. */
const told = () => [
  ...new Set(
    scene.delivered.map(({ webhook: name, event, messageId }) => {
      const state = 'state' in event.data ? event.data.state : '';
      return `${name} ${event.type} ${state} ${messageId}`;
    }),
  ),
];
const words = () => told().map((text) => text.split(' ').slice(0, 3).join(' '));

describe('people are told (X9)', () => {
  it('once by each webhook, however often a step is repeated and however often it fails', async () => {
    await record(row('r1', 1, 'failed'));
    await record(row('r1', 1, 'failed'));
    await tellDue();
    await record(row('r2', 2, 'failed'));
    await tellDue();
    expect(words()).toEqual(['ops export.failed begun', 'chat export.failed begun']);
    await record(row('r3', 3, 'published'));
    await record(row('r3', 3, 'published'));
    await tellDue();
    await tellDue();
    expect(words().slice(2)).toEqual(['ops export.failed ended', 'chat export.failed ended']);
    await record(row('r4', 4, 'failed'));
    await tellDue();
    expect(words().slice(4)).toEqual(['ops export.failed begun', 'chat export.failed begun']);
  });

  it('nothing about now by a row that is written late', async () => {
    await record(row('r2', 2, 'published'));
    await record(row('r1', 1, 'failed'));
    await tellDue();
    expect(words()).toEqual([]);
    expect(await open()).toEqual([]);
  });

  it('again by the step that was interrupted before it had told', async () => {
    const deliver = scene.deps.deliver;
    scene.deps.deliver = async () => {
      throw new Error('Temporal is away');
    };
    await record(row('r1', 1, 'failed'));
    await expect(tellDue()).rejects.toThrow();
    scene.deps.deliver = deliver;
    await tellDue();
    await tellDue();
    expect(words()).toEqual(['ops export.failed begun', 'chat export.failed begun']);
  });

  it('of an approval that is wanted even while the database is away', async () => {
    scene.deps.feedback = {
      ...scene.deps.feedback,
      turnNotice: () => Promise.reject(new Error('away')),
      noticeRows: () => Promise.reject(new Error('away')),
    };
    scene.deps.bundles.manifest = async () => ({ files: [] }) as never;
    const input = {
      org: 'acme',
      domain: 'docs.acme.example',
      storeId: scene.deps.bundles.identity,
      version: 'v1',
      against: null,
      timeoutMs: 60_000,
      asks: [],
      again: null,
    };
    await mockActivity().run(createApprovalActivities(scene.deps).describeChanges, input);
    expect(words()).toEqual(['ops approval.wanted begun', 'chat approval.wanted begun']);
  });
});

it('learns who held a site and why from the audit, which no history holds (X1)', async () => {
  const subject = 'docs.acme.example';
  const held = { type: 'site.held', subject, state: 'begun', reason: 'held at v1' } as const;
  await scene.deps.feedback.turnNotice({ ...held, org: 'acme', at: new Date('2026-11-21T09:00:00Z') });
  const act = { entryId: 'e1', at: '2026-11-21T08:58:00.000Z', action: 'hold', org: 'acme', subject } as const;
  const reason = 'because of Jane Doe';
  // The message goes out late: another has held the site again.
  const later = { ...act, entryId: 'e2', at: '2026-11-28T08:58:00.000Z', who: 'ben', reason: 'another' };
  await scene.deps.feedback.recordAuditEntries(
    [{ ...act, who: 'anna', reason }, later].map((entry) => ({ ...entry, detail: '{}', workflowId: null })),
  );
  await tellDue(new Date('2026-11-21T09:00:30Z'));
  const [delivery] = scene.delivered;
  expect(JSON.stringify(delivery)).not.toContain('Jane');
  if (delivery) await mockActivity().run(createWebhookActivities(scene.deps).sendWebhook, delivery);
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({
    type: 'site.held',
    data: { subject, reason: 'held at v1', decided: { who: 'anna', why: reason } },
  });
});

describe('a receiver that is gone', () => {
  const event: WebhookEvent = {
    type: 'export.failed',
    timestamp: '2026-11-21T08:00:00.000Z',
    data: {
      org: 'acme',
      subject: 'docs.acme.example',
      state: 'begun',
      since: '2026-11-21T08:00:00.000Z',
      reason: null,
      command: null,
      facts: {},
    },
  };
  const send = (messageId: string) => {
    const { sendWebhook } = createWebhookActivities(scene.deps);
    return mockActivity().run(sendWebhook, { org: 'acme', webhook: 'ops', messageId, event });
  };
  const later = () => new Date(Date.now() + 60_000);
  const lookAround = () =>
    mockActivity().run(createWatchActivities(scene.deps).lookAround, { org: 'acme', last: firstLook(Date.now()) });

  it('is told of to the others once, and not asked again until its settings change', async () => {
    receiver.answers.push({ status: 410 });
    expect(await failureOf(send('m1'))).toMatchObject({ type: 'WebhookRefused', nonRetryable: true });
    expect(await failureOf(send('m2'))).toMatchObject({ type: 'WebhookRefused', nonRetryable: true });
    expect(receiver.received).toHaveLength(1);
    await tellDue(later());
    expect(words()).toEqual(['chat webhook.gone begun']);
    const reason = 'it answers 410 and gets no message: change its url, secret or format, and restart the workers';
    expect(scene.delivered[0]?.event.data).toMatchObject({ subject: 'ops', reason, command: null });
    await record(row('r1', 1, 'failed'));
    await tellDue(later());
    expect(words()).toEqual(['chat webhook.gone begun', 'chat export.failed begun']);
    const stored = JSON.stringify(await scene.deps.feedback.noticeRows('acme'));
    expect(stored).not.toContain(receiver.token);

    url = `${receiver.url}/new`;
    expect(await send('m3')).toMatchObject({ status: 204 });
    await lookAround();
    await tellDue(later());
    expect(words().slice(2)).toEqual(['chat webhook.gone ended']);
  });

  it('is gone anew when its new settings lead nowhere either', async () => {
    receiver.answers.push({ status: 410 }, { status: 410 });
    await failureOf(send('m1'));
    await tellDue(later());
    url = `${receiver.url}/new`;
    await failureOf(send('m2'));
    await tellDue(later());
    await failureOf(send('m3'));
    expect(receiver.received).toHaveLength(2);
    expect(words()).toEqual(['chat webhook.gone begun', 'chat webhook.gone begun']);
  });
});

describe('a look around', () => {
  const look = (activityId: string, at = Date.now()) =>
    mockActivity({ activityId, currentAttemptScheduledTimestampMs: at }).run(
      createWatchActivities(scene.deps).lookAround,
      { org: 'acme', last: firstLook(Date.now() - 60_000) },
    );

  it('tells what has become late, stale and held, and what is over', async () => {
    const [acme] = scene.deps.organizations;
    Object.assign(acme?.projects[0] ?? {}, { freshnessMs: 1_000 });
    Object.assign(acme?.sites[0] ?? {}, { lateAfterMs: 1_000 });
    const first = await look('1');
    expect(first).toMatchObject({
      count: 2,
      holding: ['export.late docs.acme.example', 'feedback.stale prj_1'],
    });
    await look('2');
    const now = new Date().toISOString();
    await record({ ...row('r1', 1, 'unchanged'), startedAt: now, finishedAt: now });
    expect(await look('3')).toMatchObject({ holding: ['feedback.stale prj_1'] });
    expect(words().filter((text) => text.startsWith('ops'))).toEqual([
      'ops export.late begun',
      'ops feedback.stale begun',
      'ops export.late ended',
    ]);
  });

  it('calls no project stale whose newest entries were read, though nothing proves that all are', async () => {
    const [acme] = scene.deps.organizations;
    Object.assign(acme?.projects[0] ?? {}, { freshnessMs: 90_000 });
    const { feedback } = scene.deps;
    const pass = {
      passId: 'p1',
      org: 'acme',
      project: 'prj_1',
      pass: 'incremental',
      workflowId: 'w',
      runId: 'r',
    } as const;
    const now = new Date();
    await feedback.beginPass({ ...pass, dateFrom: null, dateTo: null, startedAt: now });
    const from = { page: 0, cursor: null, complete: false };
    const empty = { entries: [], rejected: [], nextCursor: null, hasMore: false, requests: 1, seenAt: now };
    await feedback.upsertPage({ passId: 'p1', from, ...empty });
    await feedback.finishPass('p1', { outcome: 'completed', error: null, waitedMs: 0, finishedAt: now });
    expect(await look('1', Date.now() + 60_000)).toMatchObject({ holding: [] });
    expect(await look('2', Date.now() + 120_000)).toMatchObject({ holding: ['feedback.stale prj_1'] });
  });

  it('goes by the clock of Temporal, whatever that of its machine says', async () => {
    const [acme] = scene.deps.organizations;
    Object.assign(acme?.projects[0] ?? {}, { freshnessMs: 90_000 });
    expect(await look('1')).toMatchObject({ holding: [] });
    expect(await look('2', Date.now() + 60_000)).toMatchObject({ holding: ['feedback.stale prj_1'] });
  });

  it('forgets what is about a site or project that is not configured any more, after a day', async () => {
    const turn = (subject: string, hours: number, type: 'export.failed' | 'pass.failed' = 'export.failed') =>
      scene.deps.feedback.turnNotice({
        ...{ org: 'acme', type, subject, state: 'begun', reason: subject },
        at: new Date(Date.now() - hours * 3_600_000),
      });
    await turn('docs.old.example', 48);
    await turn('docs.new.example', 1);
    await turn('prj_1/sweep', 48, 'pass.failed');
    await turn('prj_old/sweep', 48, 'pass.failed');
    await tellDue(new Date(Date.now() - 3_600_000));
    const before = words();
    await look('1');
    await look('2');
    expect((await open()).map(({ subject }) => subject)).toEqual(['docs.new.example', 'prj_1/sweep']);
    expect(words()).toEqual(before);
  });

  it('says of an organization that is not configured any more that it cannot look', async () => {
    const step = createWatchActivities({ ...scene.deps, organizations: [] }).lookAround;
    const gone = mockActivity(afterFailures('unconfigured', 40)).run(step, { org: 'acme', last: firstLook(0) });
    expect(await failureOf(gone)).toMatchObject({ type: 'InvalidInput', nonRetryable: true });
  });

  const cut = (runId: string, more: Partial<CutRun> = {}): CutRun => ({
    target: { kind: 'export', org: 'acme', domain: 'docs.acme.example' },
    type: 'exportSite',
    workflowId: 'export:acme:docs.acme.example',
    runId,
    firstRunId: runId,
    startedAt: new Date('2026-11-21T08:01:00.000Z'),
    endedAt: new Date('2026-11-21T08:01:30.000Z'),
    why: 'terminated by op@host: stuck',
    wasReset: false,
    outcome: more.wasReset ? 'cancelled' : 'failed',
    ...more,
  });
  /** Looks as the watch does, look after look. */
  async function lookFor(...runs: CutRun[]) {
    Object.assign(scene.deps.outlook, { cutRuns: async () => runs });
    for (const id of ['1', '2']) await look(id);
  }
  const rows = async () =>
    (await scene.deps.feedback.listExportRuns({})).map(({ runId, outcome, detail }) => [runId, outcome, detail]);

  it('leaves the row of an export that was cut off, and tells people once (X4)', async () => {
    await lookFor(cut('r1'));
    expect(await rows()).toEqual([['r1', 'failed', '{"error":"terminated by op@host: stuck"}']]);
    expect(words().filter((text) => text.startsWith('ops'))).toEqual(['ops export.failed begun']);
    expect(scene.delivered[0]?.event.data).toMatchObject({ reason: 'terminated by op@host: stuck' });
    // Another one succeeds, and the run that was cut off is listed for a while.
    await record(row('r2', 2, 'unchanged'));
    await lookFor(cut('r1'));
    expect(words().filter((text) => text.startsWith('ops'))).toEqual([
      'ops export.failed begun',
      'ops export.failed ended',
    ]);
  });

  it('leaves alone what a run recorded itself, and what replaces the row of the watch', async () => {
    await record(row('r1', 1, 'unchanged'));
    await lookFor(cut('r1'), cut('r2', { wasReset: true, why: 'reset' }), cut('r3', { type: 'rollBack' }));
    expect((await rows()).map(([runId, outcome]) => `${runId} ${outcome}`).sort()).toEqual([
      'r1 unchanged',
      'r2 cancelled',
      'r3 failed',
    ]);
    await record(row('r3', 1, 'rolled-back'));
    await lookFor(cut('r3', { type: 'rollBack' }));
    expect((await rows()).map(([runId, outcome]) => `${runId} ${outcome}`).sort()).toContain('r3 rolled-back');
    expect(words()).toEqual([]);
  });

  it('closes the row of a pass that was cut off, and leaves one of a refresh, and of a pass that never began', async () => {
    const { feedback } = scene.deps;
    const sweep = { kind: 'sync', org: 'acme', project: 'prj_1', pass: 'sweep' } as const;
    const ids = { workflowId: 'sync:acme:prj_1:sweep', runId: 'r1', dateFrom: null, dateTo: null };
    await feedback.beginPass({ passId: 'p1', ...sweep, ...ids, startedAt: new Date('2026-11-21T08:01:00.000Z') });
    // The first reading of a refresh, which goes on, makes up for nothing yet.
    const first = { ...ids, workflowId: 'refresh:acme-2026-11-21T08:01:10Z', runId: 'r5' };
    await feedback.beginPass({ passId: 'p2', ...sweep, ...first, startedAt: new Date('2026-11-21T08:01:10.000Z') });
    const reset = cut('r1', { target: sweep, firstRunId: 'p1', wasReset: true });
    await lookFor(reset);
    expect(await feedback.getPass('p1')).toMatchObject({ outcome: 'running' });
    await lookFor(
      reset,
      cut('r2', { target: sweep, firstRunId: 'p1' }),
      cut('r3', { target: { ...sweep, pass: 'review' }, why: 'timed out' }),
      cut('r4', { target: { kind: 'refresh', org: 'acme' }, workflowId: 'refresh:acme-2026-11-21T08:01:00Z' }),
    );
    const passes = await feedback.listPasses({ org: 'acme' });
    expect(passes.map(({ pass, outcome, error }) => `${pass} ${outcome} ${error}`).sort()).toEqual([
      'refresh failed terminated by op@host: stuck',
      'review failed timed out',
      'sweep failed terminated by op@host: stuck',
      'sweep running null',
    ]);
    expect(words().filter((text) => text.startsWith('ops'))).toEqual(['ops pass.failed begun']);
  });

  it('looks again for what it could not read', async () => {
    Object.assign(scene.deps.outlook, { cutRuns: () => Promise.reject(new Error('Temporal is away')) });
    expect(await look('1')).toMatchObject({ at: null });
    Object.assign(scene.deps.outlook, { cutRuns: async () => [] });
    expect(await look('2')).toMatchObject({ at: expect.any(Number) });
  });
});
