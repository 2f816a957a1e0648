import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import type { Activities } from '../../src/activities/index.ts';
import type { RollbackInput } from '../../src/exports/rules/site-export.ts';
import { ExportRunning, exportHandle, exportState, startExport, startRollback } from '../../src/operations/exports.ts';
import { gate } from '../tools/proxies/gate.ts';
import { eventCounts } from '../tools/temporal/event-counts.ts';
import { exportActivities, input, reading, sitePlan, targetsOf } from '../tools/temporal/export-activities.ts';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { untilChildrenEnd, withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(timeSkippingEnvironment());

const version = '20260101T000000Z-000000000000';
const rolledBack = { contentDigest: 'ab'.repeat(32), pages: 7, files: 9, url: 'http://b.example/x' };

/** As `exportActivities`, with those of a rollback. */
const rollbackActivities = (replace: Partial<Activities> = {}) =>
  exportActivities({
    checkKeptVersion: async () => ({ current: 'newer' }),
    rollBackTo: async () => rolledBack,
    ...replace,
  });

const request = (): RollbackInput => {
  const { org, domain, failover } = input();
  return { org, domain, failover, version, reason: 'broken search' };
};

const refuse = { onRunning: 'refuse' as const, beforeCancel: async () => {} };
const cancel = { ...refuse, onRunning: 'cancel' as const };

it('that must refuse cancels no export that its schedule starts while another ends', async () => {
  const cancelled: (string | undefined)[] = [];
  const runs = ['first', 'second'];
  const taken = () => Promise.reject(new WorkflowExecutionAlreadyStartedError('taken', 'w', 'exportSite'));
  const getHandle = (_id: string, runId?: string) => ({
    // The first run ends between the refused start and this question, after which the second begins.
    describe: async () => {
      const described = runs.shift() ?? 'second';
      return { runId: described, status: { name: described === 'first' ? 'COMPLETED' : 'RUNNING' } };
    },
    query: async () => ({ parameters: {}, approval: null }),
    cancel: async () => void cancelled.push(runId),
    result: async () => ({}),
  });
  const client = { workflow: { start: taken, getHandle } } as unknown as Client;
  await expect(startRollback(client, 'q', request(), refuse)).rejects.toBeInstanceOf(ExportRunning);
  expect(cancelled).toEqual([]);
  // One that may cancel looks at what it cancels, and cancels that run.
  runs.push('first', 'second');
  await expect(startRollback(client, 'q', request(), cancel)).rejects.toBeInstanceOf(ExportRunning);
  expect(new Set(cancelled)).toEqual(new Set(['second']));
});

describe('rollBack', () => {
  it('is kept with who and why, once the site is held, and never when it is not', async () => {
    const { activities, calls } = rollbackActivities();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const asked = { ...request(), who: 'anna' };
      const { handle } = await startRollback(env.client, taskQueue, asked, refuse);
      await handle.result();
      const { runId } = await handle.describe();
      await expect
        .poll(() => calls.recordAuditEntry)
        .toEqual([
          {
            entryId: `${runId}/rollback`,
            at: expect.stringMatching(/^\d{4}-.*Z$/),
            action: 'rollback',
            org: asked.org,
            subject: asked.domain,
            who: 'anna',
            reason: 'broken search',
            detail: JSON.stringify({ version, previous: 'newer' }),
            workflowId: handle.workflowId,
          },
        ]);
      const endless = { ...request(), reason: 'x'.repeat(501) };
      const refused = await startRollback(env.client, taskQueue, endless, refuse);
      await expect(refused.handle.result()).rejects.toMatchObject({
        cause: { message: 'reason: expected a reason of at most 500 characters' },
      });
    });
    expect(calls.recordAuditEntry).toHaveLength(1);
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'rolled-back' }, { outcome: 'failed' }]);
  });

  it('verifies, holds and moves, rolls out to every target, and says that one failed; the service is not asked', async () => {
    const { activities, calls } = rollbackActivities({
      planExport: async () => ({ ...sitePlan, jobTimeoutMs: 1, jobAttempts: 1, targets: targetsOf('bad', 'good') }),
      rollOut: async ({ target, step }) => {
        if (target === 'bad') throw ApplicationFailure.nonRetryable('read-only file system', 'RolloutFailed');
        return { target, step, outcome: 'rolled-out', detail: 'switched' };
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const asked = request();
      const { handle, joined, cancelled } = await startRollback(env.client, taskQueue, asked, refuse);
      expect([joined, cancelled]).toEqual([false, false]);
      expect(await handle.result()).toMatchObject({
        workflowId: `export:acme:${asked.domain}`,
        outcome: 'rollout-failed',
        version,
        held: version,
        previous: 'newer',
        ...rolledBack,
        rollouts: [
          { target: 'bad', outcome: 'failed' },
          { target: 'good', outcome: 'rolled-out' },
        ],
      });
      expect(await exportState(env.client, asked.org, asked.domain)).toMatchObject({ phase: 'done', version });
    });
    const { recordAuditEntry: _, ...steps } = calls;
    expect(Object.keys(steps)).toEqual(['planExport', 'checkKeptVersion', 'rollBackTo', 'rollOut', 'recordExportRun']);
    expect(calls.rollBackTo).toMatchObject([{ version, reason: 'broken search' }]);
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'rollout-failed', version, jobId: null, jobMs: null }]);
  });

  it('reaches the targets behind one whose check refuses the version: nothing else brings it there (E7)', async () => {
    const { activities } = rollbackActivities({
      planExport: async () => ({ ...sitePlan, jobTimeoutMs: 1, jobAttempts: 1, targets: targetsOf('bad', 'good') }),
      rollOut: async ({ target, step }) => {
        if (target === 'bad') throw ApplicationFailure.nonRetryable('the page is not there', 'VersionRefused');
        return { target, step, outcome: 'rolled-out', detail: 'switched' };
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const { handle } = await startRollback(env.client, taskQueue, request(), refuse);
      expect(await handle.result()).toMatchObject({
        outcome: 'rollout-failed',
        rollouts: [
          { target: 'bad', outcome: 'failed', blames: 'version' },
          { target: 'good', outcome: 'rolled-out' },
        ],
      });
    });
  });

  it('succeeds while the database is away (E7)', async () => {
    const { activities } = rollbackActivities({
      recordExportRun: async () => {
        throw ApplicationFailure.nonRetryable('no connection', 'StoreUnavailable');
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const { handle } = await startRollback(env.client, taskQueue, request(), refuse);
      expect(await handle.result()).toMatchObject({ outcome: 'rolled-back' });
    });
  });

  it('touches nothing when the version is damaged or gone', async () => {
    const { activities, calls } = rollbackActivities({
      checkKeptVersion: async () => {
        throw ApplicationFailure.nonRetryable('its archive is refused', 'VersionDamaged');
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const { handle } = await startRollback(env.client, taskQueue, request(), refuse);
      await expect(handle.result()).rejects.toMatchObject({ cause: { cause: { type: 'VersionDamaged' } } });
    });
    expect([calls.rollBackTo, calls.rollOut]).toEqual([undefined, undefined]);
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'failed', version }]);
  });

  it('cancels the export that runs and waits for its clean-up, or refuses, as asked (E1)', async () => {
    const { activities, calls } = rollbackActivities({ readJob: async () => reading({ percent: 10 }) });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const asked = request();
      const { org, domain } = asked;
      await startExport(env.client, taskQueue, { org, domain, parameters: {} }, 'join');
      await expect.poll(() => exportState(env.client, org, domain)).toMatchObject({ phase: 'rendering' });
      const refused = startRollback(env.client, taskQueue, asked, refuse);
      await expect(refused).rejects.toBeInstanceOf(ExportRunning);
      const mistaken = { ...cancel, beforeCancel: () => Promise.reject(new Error('no such version')) };
      await expect(startRollback(env.client, taskQueue, asked, mistaken)).rejects.toThrow('no such version');
      expect(await exportState(env.client, org, domain)).toMatchObject({ phase: 'rendering' });
      const { handle, cancelled } = await startRollback(env.client, taskQueue, asked, cancel);
      expect(cancelled).toBe(true);
      expect(await handle.result()).toMatchObject({ outcome: 'rolled-back' });
    });
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'cancelled' }, { outcome: 'rolled-back' }]);
    expect(calls.discardStaged).toHaveLength(1);
  });

  it('that is cancelled between hold and pointer holds the site at what is in service, and is kept', async () => {
    const asked = request();
    const { activities, calls } = rollbackActivities({
      rollBackTo: async () => {
        const handle = exportHandle(env.client, asked.org, asked.domain);
        const tasks = async () => (await eventCounts(handle)).counts.WORKFLOW_TASK_COMPLETED ?? 0;
        const before = await tasks();
        await handle.cancel();
        await expect.poll(tasks).toBeGreaterThan(before);
        return rolledBack;
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const { handle } = await startRollback(env.client, taskQueue, asked, refuse);
      await expect(handle.result()).rejects.toThrow(WorkflowFailedError);
      expect((await eventCounts(handle)).counts).not.toHaveProperty('ACTIVITY_TASK_CANCEL_REQUESTED');
      await untilChildrenEnd(env, handle);
    });
    expect(calls.rollOut).toBeUndefined();
    expect(calls.recordAuditEntry).toMatchObject([{ action: 'rollback' }]);
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'cancelled' }]);
  });

  it.each([
    ['is kept when it failed after the hold', ['held'], [{ action: 'rollback' }]],
    ['is not kept when it failed before it', [], undefined],
  ])('%s', async (_what, details, kept) => {
    const rollBackTo = () =>
      Promise.reject(
        ApplicationFailure.create({ type: 'StoreUnavailable', message: 'away', nonRetryable: true, details }),
      );
    const { activities, calls } = rollbackActivities({ rollBackTo });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const { handle } = await startRollback(env.client, taskQueue, request(), refuse);
      await expect(handle.result()).rejects.toThrow(WorkflowFailedError);
      await untilChildrenEnd(env, handle);
    });
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'failed' }]);
    if (kept) expect(calls.recordAuditEntry).toMatchObject(kept);
    else expect(calls.recordAuditEntry).toBeUndefined();
  });

  it('is joined by the same rollback, and no export starts beside it', async () => {
    const { open, opened } = gate();
    const checkKeptVersion = () => opened.then(() => ({ current: null }));
    const { activities, calls } = rollbackActivities({ checkKeptVersion });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const asked = request();
      const { handle } = await startRollback(env.client, taskQueue, asked, cancel);
      expect((await startRollback(env.client, taskQueue, asked, cancel)).joined).toBe(true);
      const { org, domain } = asked;
      const beside = startExport(env.client, taskQueue, { org, domain, parameters: {} }, 'join');
      await expect(beside).rejects.toThrow(`rollback to ${version}`);
      open();
      await handle.result();
    });
    expect(calls.checkKeptVersion).toHaveLength(1);
  });
});
