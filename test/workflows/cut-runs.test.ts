import { ApplicationFailure } from '@temporalio/common';
import { expect, it } from 'vitest';
import { startSync } from '../../src/operations/syncs.ts';
import { cutRuns } from '../../src/runs/watches.ts';
import { devServerEnvironment, forThisFile } from '../tools/temporal/temporal.ts';
import { withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(devServerEnvironment());

it('passes whose end could not be written are found, with their own reason (X4)', async () => {
  const org = `cut-${process.pid}`;
  const away = () => Promise.reject(ApplicationFailure.nonRetryable('another store', 'StoreMismatch'));
  const activities = {
    beginPass: async () => ({ storeId: 'store-1' }),
    fetchPages: ({ project }: { project: string }) => (project === 'prj_1' ? away() : new Promise<never>(() => {})),
    finishPass: away,
  };
  await withWorker(env, activities, async ({ taskQueue }) => {
    const of = { org, pass: 'sweep', class: 'sweep' } as const;
    const failed = await startSync(env.client, taskQueue, { ...of, project: 'prj_1' });
    await expect(failed.result()).rejects.toThrow();
    const found = async () =>
      (await cutRuns(env.client, taskQueue, org, 0)).map(({ target, outcome, why, wasReset }) => [
        'project' in target && target.project,
        ...[outcome, why, wasReset],
      ]);
    await expect.poll(found).toEqual([['prj_1', 'failed', 'another store', false]]);
  });
});
