import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import type { Activities } from '../../src/activities/index.ts';
import type { RefreshPagesResult } from '../../src/activities/refresh-pages.ts';
import { permitsFreedSignal, refreshStateQuery, type Workflows } from '../../src/contract.ts';
import { noEntries } from '../../src/feedback/rules/feedback-entry.ts';
import { mostNamed, type ProjectFindings } from '../../src/feedback/rules/sync.ts';
import { refreshWorkflowId, workflowTypes } from '../../src/rules/workflow-ids.ts';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(timeSkippingEnvironment());

let runs = 0;
const workflowId = () => {
  runs += 1;
  return `${refreshWorkflowId(`org-${runs}`)}-2026-11-21T08:00:00Z`;
};

const leg = (more: Partial<RefreshPagesResult>): RefreshPagesResult => ({
  storeId: 'store-1',
  outcome: 'done',
  pages: 0,
  requests: 0,
  throttled: 0,
  entries: noEntries,
  projects: [],
  waiting: null,
  nextDueAt: 1,
  ...more,
});

const found = (project: string, more: Partial<ProjectFindings> = {}): ProjectFindings => ({
  project,
  inserted: 0,
  updated: 0,
  tombstoned: 0,
  rejected: 0,
  problem: null,
  ...more,
});

type Finish = Parameters<Activities['finishRefresh']>[0];

function refreshActivities(
  legs: (call: number) => Promise<RefreshPagesResult> | RefreshPagesResult,
  projects: ProjectFindings[] = [],
) {
  const finished: Finish[] = [];
  const sent: { webhook: string; event: { type: string; data: unknown } }[] = [];
  let calls = 0;
  const activities: Partial<Activities> = {
    refreshPages: async () => legs(calls++),
    finishRefresh: async (input) => {
      finished.push(input);
      return { projects, others: 0, webhooks: ['chat'] };
    },
    sendWebhook: async (delivery) => {
      sent.push(delivery);
      return { messageId: delivery.messageId, status: 204, attempts: 1 };
    },
  };
  return { activities, finished, sent, calls: () => calls };
}

const start = (taskQueue: string, id: string, input: unknown = { org: 'acme', failover: 'tolerant' }) =>
  env.client.workflow.start<Workflows['refreshFeedback']>(workflowTypes.refreshFeedback, {
    taskQueue,
    workflowId: id,
    args: [input as { org: string }],
  });

describe('refreshFeedback', () => {
  it('ends with what it found by project, and tells the receivers', async () => {
    const { activities, finished, sent } = refreshActivities(
      (call) =>
        call === 0
          ? leg({ outcome: 'more', requests: 20, projects: [found('new', { inserted: 2_000 })] })
          : leg({ requests: 3, projects: [found('renamed', { problem: 'NotFound: no such project' })] }),
      [found('prj_1', { updated: 4, tombstoned: 1 })],
    );
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await start(taskQueue, workflowId());
      expect(await handle.result()).toMatchObject({
        org: 'acme',
        requests: 23,
        projects: [{ project: 'new', inserted: 2_000 }, { project: 'renamed' }, { project: 'prj_1', updated: 4 }],
        others: 0,
        nextDueAt: 1,
      });
      await expect.poll(() => sent).toHaveLength(1);
    });
    expect(finished).toMatchObject([
      {
        outcome: 'completed',
        storeId: 'store-1',
      },
    ]);
    expect(sent[0]?.event).toMatchObject({
      type: 'feedback.refreshed',
      data: {
        projects: [
          { project: 'new', inserted: 2_000 },
          { project: 'prj_1', updated: 4 },
        ],
      },
    });
  });

  it('tells nobody when it found nothing', async () => {
    const { activities, sent } = refreshActivities(() => leg({ requests: 4 }));
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await start(taskQueue, workflowId());
      expect(await handle.result()).toMatchObject({ requests: 4, projects: [] });
    });
    expect(sent).toEqual([]);
  });

  it('names some projects and counts the others: its result stays below 4 KiB', async () => {
    const many = (from: number) =>
      Array.from({ length: mostNamed }, (_, place) =>
        found(`project-with-a-long-name-${from + place}`, { updated: 1 }),
      );
    const { activities } = refreshActivities((call) =>
      leg({ outcome: call < 4 ? 'more' : 'done', projects: many(call * 20) }),
    );
    await withWorker(env, activities, async ({ taskQueue }) => {
      const result = await (await start(taskQueue, workflowId())).result();
      expect(result.projects).toHaveLength(mostNamed);
      expect(result.others).toBe(80);
      expect(JSON.stringify(result).length).toBeLessThan(4_096);
    });
  });

  it('waits for the budget on a durable timer, and asks again at once when permits come back', async () => {
    const { activities, calls } = refreshActivities(async (call) => {
      if (call === 1) return leg({});
      const until = (await env.currentTimeMs()) + 86_400_000;
      return leg({ outcome: 'waiting', waiting: { until, place: 1, behind: [], reason: 'window-full' } });
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await start(taskQueue, workflowId());
      await expect.poll(() => handle.query(refreshStateQuery)).toMatchObject({ phase: 'waiting-for-budget' });
      await handle.signal(permitsFreedSignal);
      expect((await handle.result()).waitedMs).toBeLessThan(86_000_000);
      expect(calls()).toBe(2);
    });
  });

  it('leaves a row when it fails', async () => {
    const { activities, finished } = refreshActivities(() => {
      throw ApplicationFailure.nonRetryable('another store', 'StoreMismatch');
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await start(taskQueue, workflowId());
      await expect(handle.result()).rejects.toThrow();
    });
    expect(finished).toMatchObject([{ outcome: 'failed', error: 'StoreMismatch: another store', storeId: null }]);
  });

  it('refuses an input of another shape (X5)', async () => {
    await withWorker(env, refreshActivities(() => leg({})).activities, async ({ taskQueue }) => {
      const handle = await start(taskQueue, workflowId(), { org: 7 });
      await expect(handle.result()).rejects.toMatchObject({ cause: { type: 'InvalidInput' } });
    });
  });
});
