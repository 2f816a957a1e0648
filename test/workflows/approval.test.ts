import { WithStartWorkflowOperation } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { defineUpdate } from '@temporalio/workflow';
import { describe, expect, it } from 'vitest';
import type { Activities } from '../../src/activities/index.ts';
import type { ContentChanges, ExportInput, ExportProgress } from '../../src/exports/rules/site-export.ts';
import {
  approveExport,
  ExportRunning,
  exportState,
  rejectExport,
  startRollback,
} from '../../src/operations/exports.ts';
import { exportWorkflowId } from '../../src/rules/workflow-ids.ts';
import type { Actor } from '../../src/runs/rules/audit.ts';
import { continuing } from '../tools/temporal/continued-runs.ts';
import {
  bundle,
  digest,
  exportActivities,
  exportStarter,
  input,
  sitePlan,
  unchanged,
} from '../tools/temporal/export-activities.ts';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(timeSkippingEnvironment());

const day = 86_400_000;
const changes: ContentChanges = {
  against: '20260101T000000Z-000000000000',
  pages: { added: 1, removed: 0, changed: 2, moved: 0 },
  others: { added: 0, removed: 0, changed: 0, moved: 0 },
  listed: { added: ['new.html'], removed: [], changed: ['a.html', 'b.html'], moved: [] },
};
const current = { version: changes.against ?? '', contentDigest: 'ef'.repeat(32), publishedAt: 'x', epoch: 4 };

/** As `exportActivities`, for a site whose versions a person approves within a day. */
const approvalActivities = (replace: Partial<Activities> = {}) =>
  exportActivities({
    planExport: async () => ({ ...sitePlan, approval: { always: true, timeoutMs: day } }),
    fetchBundle: async () => ({ ...bundle, contentDigest: digest, current }),
    publishVersion: async ({ version }) => ({ url: `http://bundles.example/${version}`, heldAt: null }),
    describeChanges: async () => changes,
    promoteVersion: async () => ({ heldAt: null }),
    withdrawVersion: async () => {},
    ...replace,
  });

const readOnly = () => Promise.reject(ApplicationFailure.nonRetryable('read-only file system', 'StoreUnavailable'));

const start = exportStarter(env);

/** As the Temporal UI sends an update: whatever a person typed. */
const byHand = ({ org, domain }: ExportInput, update: 'approve' | 'reject', typed: unknown) =>
  env.client.workflow
    .getHandle(exportWorkflowId(org, domain))
    .executeUpdate(defineUpdate<unknown, [unknown]>(update), { args: [typed] });

/** The input of the run that continues an export whose version has waited for so long. */
async function continued({
  waitedMs,
  limitMs,
  reminded = false,
}: {
  waitedMs: number;
  limitMs: number;
  reminded?: boolean;
}) {
  const version = '20260102T000000Z-abababababab';
  const since = (await env.currentTimeMs()) - waitedMs;
  const published = { url: 'http://bundles.example/waiting', heldAt: null };
  const carried: ExportProgress = {
    startedAt: 5,
    storeId: sitePlan.storeId,
    jobId: 'job-7',
    jobStartedAt: 6,
    jobsStarted: 2,
    possibleDuplicates: 0,
    polls: 3,
    percent: 100,
    pageCount: 7,
    samples: [],
    linksRequested: 1,
    runningMs: 0,
    namedAt: 7,
  };
  return {
    ...input(),
    carried,
    awaited: {
      approval: { version, since, expiresAt: since + limitMs, asks: [], changes },
      reminded,
      bundle: { ...bundle, current, published },
    },
  };
}

/** Time stands still unless a client waits for a result: it skips the wait for the job. */
async function untilItWaits({ org, domain }: ExportInput) {
  await env.sleep('1 minute');
  const state = () => exportState(env.client, org, domain);
  await expect.poll(state).toMatchObject({ phase: 'awaiting-approval' });
  const { approval } = await state();
  if (approval === null) throw new Error('no version waits');
  return approval;
}

describe('an export that needs approval', () => {
  it('publishes first, shows what would change, and moves the pointer only when a person approves', async () => {
    const { activities, calls } = approvalActivities();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      const approval = await untilItWaits(request);
      expect(approval).toMatchObject({ version: expect.stringMatching(/^\d{8}T\d{6}Z-abababababab$/), changes });
      expect((approval?.expiresAt ?? 0) - (approval?.since ?? 0)).toBe(day);
      expect(calls.fetchBundle).toMatchObject([{ publish: null }]);
      expect(calls.publishVersion).toMatchObject([{ version: approval?.version, awaitsApproval: true }]);
      expect(calls.describeChanges).toMatchObject([{ version: approval?.version, against: current.version }]);
      expect([calls.promoteVersion, calls.rollOut]).toEqual([undefined, undefined]);
      expect((await handle.describe()).searchAttributes).toMatchObject({ DocferryPhase: ['awaiting-approval'] });
      await expect(approveExport(env.client, { ...request, version: current.version })).rejects.toMatchObject({
        cause: { message: `${approval?.version} waits for approval, not ${current.version}` },
      });
      expect(await approveExport(env.client, { ...request, ...approval })).toEqual({ version: approval?.version });
      expect(await handle.result()).toMatchObject({
        outcome: 'published',
        version: approval?.version,
        held: null,
        rollouts: [{ outcome: 'rolled-out' }],
      });
    });
    expect(calls.promoteVersion).toMatchObject([{ promote: { expected: { epoch: 4 } } }]);
    expect(calls.withdrawVersion).toBeUndefined();
  });

  it('waits where a rule asks, shows why, and tells people again after a day (E8)', async () => {
    const asks = [{ rule: 'pages-removed', path: null, detail: '9 of 10 pages (90 %) of v1 are gone' }];
    const { activities, calls } = approvalActivities({
      planExport: async () => ({ ...sitePlan, approval: { always: false, timeoutMs: 3 * day } }),
      fetchBundle: async () => ({ ...bundle, current, asks }),
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      const { version, since } = await untilItWaits(request);
      expect(await exportState(env.client, request.org, request.domain)).toMatchObject({ approval: { asks, changes } });
      expect(calls.fetchBundle).toMatchObject([{ publish: { promote: true } }]);
      expect(calls.describeChanges).toMatchObject([{ asks, again: null, timeoutMs: 3 * day }]);
      await env.sleep('23 hours');
      expect(calls.describeChanges).toHaveLength(1);
      await env.sleep('2 hours');
      await expect.poll(() => calls.describeChanges).toMatchObject([{}, { again: new Date(since).toISOString() }]);
      await env.sleep('1 day');
      await approveExport(env.client, { ...request, version });
      expect(await handle.result()).toMatchObject({ outcome: 'published', version });
      expect(calls.describeChanges).toHaveLength(2);
    });
  });

  it('takes no decision by hand that names no version, or holds a field it does not know', async () => {
    const { activities, calls } = approvalActivities();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      const { version } = await untilItWaits(request);
      const unnamed = `version: expected ${version}, which waits for approval`;
      for (const [update, typed, message] of [
        ['approve', { Version: 'another' }, 'Version: expected no such field, only version'],
        ['approve', { version, Reason: 'x' }, 'Reason: expected no such field, only version'],
        [
          'approve',
          { version, 'jane@mail.example': 1 },
          'a field of another name: expected no such field, only version',
        ],
        ['approve', undefined, unnamed],
        ['approve', {}, unnamed],
        ['reject', { reason: 'no' }, unnamed],
        ['reject', { reason: 'no', Version: version }, 'Version: expected no such field, only reason, version'],
      ] as const) {
        await expect(byHand(request, update, typed)).rejects.toMatchObject({
          cause: { type: 'InvalidInput', message },
        });
      }
      const typo = { Who: 'anna' } as Actor;
      await expect(approveExport(env.client, { ...request, version }, typo)).rejects.toMatchObject({
        cause: { message: 'Who: expected no such field, only who, reason' },
      });
      expect(calls.promoteVersion).toBeUndefined();
      await byHand(request, 'approve', { version });
      expect(await handle.result()).toMatchObject({ outcome: 'published', version });
    });
  });

  it('ends as rejected, with the reason, and removes the version', async () => {
    const { activities, calls } = approvalActivities();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      const approval = await untilItWaits(request);
      for (const [reason, message] of [
        ['  ', /needs a reason/],
        ['x'.repeat(501), /501 characters, expected at most 500/],
      ] as const) {
        await expect(rejectExport(env.client, { ...request, ...approval, reason })).rejects.toMatchObject({
          cause: { message: expect.stringMatching(message) },
        });
      }
      const answered = (answer: unknown) => () =>
        handle.executeUpdate(defineUpdate<unknown, [unknown]>('reject'), { args: [answer] });
      const unanswered = () => handle.executeUpdate(defineUpdate<unknown>('reject'));
      for (const reject of [unanswered, ...[null, {}, { reason: 5 }, 'no'].map(answered)]) {
        await expect(reject()).rejects.toMatchObject({
          cause: { type: 'InvalidInput', message: expect.stringMatching(/reason|an object/) },
        });
      }
      await rejectExport(env.client, { ...request, ...approval, reason: ' prices are wrong ' });
      expect(await handle.result()).toMatchObject({
        outcome: 'rejected',
        version: null,
        url: null,
        contentDigest: digest,
        reasons: [{ rule: 'not-approved', path: null, detail: 'prices are wrong' }],
        rollouts: [],
      });
      expect(calls.withdrawVersion).toMatchObject([{ version: approval?.version }]);
    });
    expect([calls.promoteVersion, calls.rollOut]).toEqual([undefined, undefined]);
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'rejected', version: null }]);
  });

  it('keeps a rejection that came from elsewhere, whatever the id of its update', async () => {
    const { activities, calls } = approvalActivities();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      const { version } = await untilItWaits(request);
      const updateId = 'x'.repeat(900);
      const reject = defineUpdate<unknown, [unknown]>('reject');
      await handle.executeUpdate(reject, { args: [{ version, reason: ' prices ' }], updateId });
      await handle.result();
      await expect
        .poll(() => calls.recordAuditEntry)
        .toMatchObject([
          {
            entryId: `${(await handle.describe()).runId}/${updateId}`,
            action: 'reject',
            who: 'Temporal UI or other client',
            reason: 'prices',
          },
        ]);
    });
  });

  it('counts as rejected without a decision in time', async () => {
    const { activities, calls } = approvalActivities();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const startedAt = await env.currentTimeMs();
      expect(await (await start(taskQueue, input())).result()).toMatchObject({
        outcome: 'rejected',
        reasons: [{ rule: 'approval-expired', detail: 'not approved within 24 h' }],
      });
      expect((await env.currentTimeMs()) - startedAt).toBeGreaterThanOrEqual(day);
    });
    expect(calls.withdrawVersion).toHaveLength(1);
    expect(calls.recordAuditEntry).toBeUndefined();
  });

  it('goes on waiting in the run that continues it: same version, deadline and notices, nothing done twice', async () => {
    const { activities, calls } = approvalActivities({
      // What the configuration says now no longer counts.
      planExport: async () => ({ ...sitePlan, approval: { always: false, timeoutMs: day } }),
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = await continued({ waitedMs: 23 * 3_600_000, limitMs: 3 * day });
      const { approval } = request.awaited;
      const handle = await start(taskQueue, request);
      expect(await untilItWaits(request)).toEqual(approval);
      await env.sleep('2 hours');
      const again = new Date(approval.since).toISOString();
      await expect.poll(() => calls.describeChanges).toMatchObject([{ again, timeoutMs: 3 * day }]);
      await approveExport(env.client, { ...request, version: approval.version });
      expect(await handle.result()).toMatchObject({
        outcome: 'published',
        version: approval.version,
        url: request.awaited.bundle.published.url,
        jobId: 'job-7',
        jobsStarted: 2,
        contentDigest: digest,
      });
    });
    expect([calls.startJob, calls.readJob, calls.fetchBundle, calls.publishVersion]).toEqual(Array(4).fill(undefined));
    expect(calls.describeChanges).toHaveLength(1);
    expect(calls.promoteVersion).toMatchObject([{ promote: { expected: { epoch: 4 } } }]);
    expect(calls.recordExportRun).toMatchObject([{ startedAt: new Date(5).toISOString(), outcome: 'published' }]);
  });

  it('takes a decision with the first task of the run that continues it, and reminds nobody twice', async () => {
    const { activities, calls } = approvalActivities();
    const request = await continued({ waitedMs: 2 * day, limitMs: 3 * day, reminded: true });
    const { version } = request.awaited.approval;
    await withWorker(env, activities, async ({ taskQueue }) => {
      const startWorkflowOperation = new WithStartWorkflowOperation('exportSite', {
        workflowId: exportWorkflowId(request.org, request.domain),
        workflowIdConflictPolicy: 'FAIL',
        taskQueue,
        memo: continuing,
        args: [request],
      });
      const reject = defineUpdate<unknown, [unknown]>('reject');
      const args: [unknown] = [{ version, reason: 'prices' }];
      await env.client.workflow.executeUpdateWithStart(reject, { args, startWorkflowOperation });
      const handle = await startWorkflowOperation.workflowHandle();
      expect(await handle.result()).toMatchObject({ outcome: 'rejected', reasons: [{ rule: 'not-approved' }] });
    });
    expect(calls.describeChanges).toBeUndefined();
    expect(calls.withdrawVersion).toMatchObject([{ version }]);
    expect(calls.recordAuditEntry).toMatchObject([{ action: 'reject', detail: JSON.stringify({ version }) }]);
  });

  it('expires in the run that continues it when it would have, and is removed if that run cannot plan', async () => {
    const { activities, calls } = approvalActivities();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = await continued({ waitedMs: 2 * day, limitMs: 3 * day, reminded: true });
      const handle = await start(taskQueue, request);
      expect(await handle.result()).toMatchObject({
        outcome: 'rejected',
        reasons: [{ rule: 'approval-expired', detail: 'not approved within 72 h' }],
      });
      const { closeTime } = await handle.describe();
      expect(Math.abs(Number(closeTime) - request.awaited.approval.expiresAt)).toBeLessThan(3_600_000);
    });
    expect([calls.describeChanges, calls.withdrawVersion?.length]).toEqual([undefined, 1]);

    const gone = approvalActivities({
      planExport: () => Promise.reject(ApplicationFailure.nonRetryable('no such site', 'UnknownSite')),
    });
    await withWorker(env, gone.activities, async ({ taskQueue }) => {
      const request = await continued({ waitedMs: day, limitMs: 3 * day });
      await expect((await start(taskQueue, request)).result()).rejects.toThrow();
    });
    expect(gone.calls.withdrawVersion).toHaveLength(1);
    expect(gone.calls.recordExportRun).toMatchObject([{ outcome: 'failed', version: null }]);
  });

  it.each([
    ['', {}],
    [', though the download cannot be removed', { discardStaged: readOnly }],
  ])('removes the version when it is cancelled meanwhile%s', async (_, more) => {
    const { activities, calls } = approvalActivities(more);
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      await untilItWaits(request);
      await handle.cancel();
      await expect(handle.result()).rejects.toThrow();
    });
    expect(calls.withdrawVersion).toMatchObject([{ version: calls.publishVersion?.[0]?.version }]);
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'cancelled', version: null }]);
  });

  it('is cancelled by a rollback to a kept version only, not to the one that waits (E7)', async () => {
    const { activities, calls } = approvalActivities({
      checkKeptVersion: async () => ({ current: current.version }),
      rollBackTo: async () => ({ contentDigest: current.contentDigest, pages: 7, files: 9, url: 'http://b.example/x' }),
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      const approval = await untilItWaits(request);
      const how = { onRunning: 'cancel' as const, beforeCancel: async () => {} };
      const { org, domain } = request;
      const back = { org, domain, reason: null };
      const toWaiting = startRollback(env.client, taskQueue, { ...back, version: approval?.version ?? '' }, how);
      await expect(toWaiting).rejects.toThrow(`${approval?.version} is not in service yet: it waits for approval`);
      await expect(toWaiting).rejects.toBeInstanceOf(ExportRunning);
      expect(await untilItWaits(request)).toEqual(approval);
      expect([calls.checkKeptVersion, calls.rollBackTo, calls.withdrawVersion]).toEqual(Array(3).fill(undefined));

      const kept = await startRollback(env.client, taskQueue, { ...back, version: current.version }, how);
      expect(kept.cancelled).toBe(true);
      await expect(handle.result()).rejects.toThrow();
      expect(await kept.handle.result()).toMatchObject({ outcome: 'rolled-back', version: current.version });
      expect(calls.withdrawVersion).toMatchObject([{ version: approval?.version }]);
    });
  });

  it('needs no approval for unchanged content, a few pages, or a held site', async () => {
    const same = approvalActivities({ fetchBundle: async () => unchanged });
    await withWorker(env, same.activities, async ({ taskQueue }) => {
      expect(await (await start(taskQueue, input())).result()).toMatchObject({ outcome: 'unchanged' });
    });
    const held = approvalActivities({
      publishVersion: async () => ({ url: 'http://bundles.example/x', heldAt: current.version }),
    });
    await withWorker(env, held.activities, async ({ taskQueue }) => {
      const result = await (await start(taskQueue, input())).result();
      expect(result).toMatchObject({ outcome: 'published', held: current.version });
      await (await start(taskQueue, input({ paths: ['/a'] }))).result();
    });
    for (const { calls } of [same, held]) {
      expect([calls.describeChanges, calls.promoteVersion, calls.withdrawVersion]).toEqual(Array(3).fill(undefined));
    }
    expect(held.calls.rollOut).toMatchObject([{ version: current.version }]);
    expect(held.calls.publishVersion).toMatchObject([{ awaitsApproval: true }, { awaitsApproval: false }]);
  });

  it('keeps the held version when the site is held during the approval', async () => {
    const { activities, calls } = approvalActivities({ promoteVersion: async () => ({ heldAt: current.version }) });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      const { version } = await untilItWaits(request);
      await approveExport(env.client, { ...request, version });
      expect(await handle.result()).toMatchObject({ outcome: 'published', held: current.version });
    });
    expect(calls.rollOut).toMatchObject([{ version: current.version }]);
    expect(calls.withdrawVersion).toBeUndefined();
  });

  it('refuses a decision when there is nothing to decide', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { activities } = approvalActivities({
      startJob: async () => {
        await held;
        return { jobId: 'job-1' };
      },
      fetchBundle: async () => ({ ok: false, reasons: [], linksRequested: 1, pages: 0, files: 0, archive: null }),
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      const refused = { cause: { type: 'InvalidInput', message: 'no version waits for approval' } };
      const guess = { ...request, version: current.version };
      await expect(approveExport(env.client, guess)).rejects.toMatchObject(refused);
      await expect(rejectExport(env.client, { ...guess, reason: 'no' })).rejects.toMatchObject(refused);
      release();
      await handle.result();
    });
  });

  // The last one: after an activity that outlasts a timer, the time-skipping server skips no more time.
  it('keeps who approved and why, while nothing waits for the database', async () => {
    let comesBack = () => {};
    const away = new Promise<void>((resolve) => {
      comesBack = resolve;
    });
    const written: unknown[] = [];
    const { activities, calls } = approvalActivities({
      recordAuditEntry: async (entry) => {
        await away;
        written.push(entry);
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      const approval = await untilItWaits(request);
      const wrong = approveExport(env.client, { ...request, ...approval }, { who: 'x'.repeat(101) });
      await expect(wrong).rejects.toMatchObject({
        cause: { type: 'InvalidInput', message: 'who: expected a name of 1 to 100 characters' },
      });
      await approveExport(env.client, { ...request, ...approval }, { who: 'anna', reason: ' as agreed ' });
      expect(await handle.result()).toMatchObject({ outcome: 'published' });
      expect(written).toEqual([]);
      comesBack();
      const { events } = await handle.fetchHistory();
      const [audit] = (events ?? []).flatMap((event) => event.childWorkflowExecutionStartedEventAttributes ?? []);
      await env.client.workflow.getHandle(audit?.workflowExecution?.workflowId ?? '').result();
      expect(written.length).toBeGreaterThan(0);
      const { runId } = await handle.describe();
      const entry = {
        entryId: expect.stringMatching(new RegExp(`^${runId}/[0-9a-f-]{36}$`)),
        at: expect.stringMatching(/^\d{4}-.*Z$/),
        action: 'approve',
        org: request.org,
        subject: request.domain,
        who: 'anna',
        reason: 'as agreed',
        detail: JSON.stringify({ version: approval?.version }),
        workflowId: handle.workflowId,
      };
      expect(calls.recordAuditEntry?.[0]).toEqual(entry);
      expect(calls.recordAuditEntry).toEqual(calls.recordAuditEntry?.map(() => calls.recordAuditEntry?.[0]));
    });
  });
});
