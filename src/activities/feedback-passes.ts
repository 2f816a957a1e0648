import type { PassRow } from '../feedback/reading/passes.ts';
import type { SyncInput, SyncProgress } from '../feedback/rules/sync.ts';
import { passNotices } from '../runs/rules/notices.ts';
import { type ActivityDependencies, notConfigured, organizationOf, requireStore, runOf } from './dependencies.ts';
import { recordNotices, subscribers } from './notices.ts';

interface BeginPassInput extends Omit<SyncInput, 'carried' | 'failover'> {
  passId: string;
  startedAt: number;
}

interface FinishPassInput extends SyncProgress {
  org: string;
  project: string;
  outcome: 'completed' | 'failed' | 'cancelled';
  error: string | null;
  finishedAt: number;
}

interface PassTotals extends Pick<PassRow, 'pages' | 'requests' | 'throttled' | 'entries'> {
  watermark: string | null;
  verifiedUpTo: string | null;
  /** Names of the webhooks to notify. */
  webhooks: string[];
}

/** The beginning and the end of a pass in the store (S2, S4, X4). */
export const createPassActivities = (deps: ActivityDependencies) => ({
  /** Plans the pass from what the store knows and writes its row. Safe to repeat. */
  async beginPass(input: BeginPassInput): Promise<{ storeId: string }> {
    const { org, project, pass, passId } = input;
    const startedAt = new Date(input.startedAt);
    const about = { passId, org, project, pass, ...runOf(), startedAt };
    if (!organizationOf(deps, org).projects.some(({ id }) => id === project)) {
      const failure = notConfigured(
        'UnknownProject',
        `project ${project} is not in the worker's configuration of ${org}`,
      );
      // Every run leaves a row, this one too (X4).
      if (failure.nonRetryable) {
        await deps.feedback.beginPass({ ...about, dateFrom: null, dateTo: null });
        const error = 'UnknownProject: not in the configuration of the worker';
        await deps.feedback.finishPass(passId, { outcome: 'failed', error, waitedMs: 0, finishedAt: startedAt });
      }
      throw failure;
    }
    const { bounds, slices } = await deps.feedback.planPass(input);
    await deps.feedback.beginPass({ ...about, ...bounds, slices });
    return { storeId: deps.feedback.identity };
  },

  /** Closes the pass's row, removes personal data that is too old, sends its notices, and returns the totals. Safe to repeat. */
  async finishPass(input: FinishPassInput): Promise<PassTotals> {
    requireStore('feedback', input.storeId, deps.feedback);
    const row = await deps.feedback.finishPass(input.passId, {
      outcome: input.outcome,
      error: input.error,
      waitedMs: input.waitedMs,
      finishedAt: new Date(input.finishedAt),
    });
    const { org, project, passId } = input;
    const at = new Date(input.finishedAt);
    // Personal data may have become too old since the last pass: by Temporal's clock, since what is removed is gone.
    await deps.feedback.expire([project], at);
    await recordNotices(deps, passNotices(row), { org, by: `pass ${passId}`, at });
    const { pages, requests, throttled, entries } = row;
    const totals = {
      watermark: await deps.feedback.watermark(org, project),
      verifiedUpTo: await deps.feedback.verifiedUpTo(org, project),
      pages,
      requests,
      throttled,
      entries,
      webhooks: await subscribers(deps, org, 'feedback.pass.finished'),
    };
    deps.metrics.add('docferry_feedback_passes_total', { org, project, outcome: input.outcome });
    return totals;
  },
});
