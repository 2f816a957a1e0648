import { describe, expect, it } from 'vitest';
import { startExport } from '../../src/operations/exports.ts';
import { exportActivities, input } from '../tools/temporal/export-activities.ts';
import { lateRefusal } from '../tools/temporal/late-refusal.ts';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(timeSkippingEnvironment());

describe('an export that ends', () => {
  it('is not joined when it ends at that moment: another one starts, and is told as started (E1)', async () => {
    const { activities, calls } = exportActivities();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const { handle } = await startExport(env.client, taskQueue, request, 'join');
      const client = lateRefusal(env.client, () => handle.result());
      const second = await startExport(client, taskQueue, request, 'join');
      expect(second).toMatchObject({ joined: false, runId: expect.any(String) });
      expect(await second.handle.result()).toMatchObject({ runId: second.runId, jobId: 'job-2' });
    });
    expect(calls.startJob).toHaveLength(2);
  });
});
