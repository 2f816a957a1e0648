import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import type { Activities } from '../../src/activities/index.ts';
import { exportState, startExport, startRollback } from '../../src/operations/exports.ts';
import { endOf } from '../tools/temporal/end-of.ts';
import { exportActivities, input, reading, unchanged } from '../tools/temporal/export-activities.ts';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(timeSkippingEnvironment());

const failing = (type: string, message: string) => async () => {
  throw ApplicationFailure.nonRetryable(message, type);
};
const reasons = [{ rule: 'path-traversal', path: '../x', detail: 'leads out of the site' }];

describe('the end of an export', () => {
  it.each<[string, string, Partial<Activities>]>([
    ['published', '', {}],
    ['published', 'not in service: held at v0', { publishVersion: async () => ({ url: 'http://b', heldAt: 'v0' }) }],
    ['unchanged', '', { fetchBundle: async () => unchanged }],
    [
      'rejected',
      'path-traversal in ../x: leads out of the site',
      { fetchBundle: async () => ({ ok: false, reasons, linksRequested: 1, pages: 0, files: 0, archive: null }) },
    ],
    ['rollout-failed', 'directory:./site: no room', { rollOut: failing('RolloutFailed', 'no room') }],
    ['failed', '9 GB', { fetchBundle: failing('ArchiveTooLarge', '9 GB') }],
    ['failed', 'x'.repeat(300), { startJob: failing('BadRequest', 'x'.repeat(2_000)) }],
  ])('says that it is %s (%s) in its details and search attributes', async (outcome, reason, replace) => {
    const { activities } = exportActivities({
      readJob: async () => reading({ state: 'completed', percent: 99 }),
      ...replace,
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const { handle } = await startExport(env.client, taskQueue, input(), 'join');
      await handle.result().catch(() => {});
      const { details, ...attributes } = await endOf(handle);
      expect(attributes).toEqual({ phase: ['done'], outcome: [outcome] });
      expect(details).toContain(
        `| outcome | **${outcome}** |\n${reason === '' ? '' : `| reason | ${reason} |\n`}| job |`,
      );
    });
  });

  it('says that it is cancelled', async () => {
    const { activities } = exportActivities({ readJob: async () => reading({ percent: 99 }) });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const { handle } = await startExport(env.client, taskQueue, request, 'join');
      const now = () => exportState(env.client, request.org, request.domain);
      await expect.poll(now).toMatchObject({ phase: 'rendering' });
      await handle.cancel();
      await handle.result().catch(() => {});
      const { details, ...attributes } = await endOf(handle);
      expect(attributes).toEqual({ phase: ['done'], outcome: ['cancelled'] });
      expect(details).toContain('**cancelled**');
      expect(details).not.toMatch(/99 %|phase|next poll/);
    });
  });
});

describe('the end of a rollback', () => {
  const rollBackTo = async () => ({ contentDigest: 'ab', pages: 1, files: 2, url: 'http://b' });
  it.each<[string, string, Partial<Activities>]>([
    ['rolled-back', '', { rollBackTo }],
    ['rollout-failed', 'directory:./site', { rollBackTo, rollOut: failing('RolloutFailed', 'no room') }],
    ['failed', 'gone', { rollBackTo: failing('VersionDamaged', 'gone') }],
  ])('says that it is %s (%s)', async (outcome, reason, replace) => {
    const { activities } = exportActivities({ checkKeptVersion: async () => ({ current: 'v2' }), ...replace });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const { org, domain } = input();
      const asked = { org, domain, version: 'v1', reason: null };
      const how = { onRunning: 'refuse' as const, beforeCancel: async () => {} };
      const { handle } = await startRollback(env.client, taskQueue, asked, how);
      await handle.result().catch(() => {});
      const { details, ...attributes } = await endOf(handle);
      expect(attributes).toEqual({ phase: ['done'], outcome: [outcome] });
      expect(details).toContain(`| outcome | **${outcome}** |`);
      expect(details).toContain(reason);
    });
  });
});
