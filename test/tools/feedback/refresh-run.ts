import type { SandboxOptions } from '../../../sandbox/index.ts';
import { createRefreshActivities, type RefreshPagesResult } from '../../../src/activities/refresh-pages.ts';
import type { WindowSettings } from '../../../src/budget/rules/permits.ts';
import type { ProjectFindings } from '../../../src/feedback/rules/sync.ts';
import { type ActivityScene, activityScene, mockActivity } from '../activity-dependencies.ts';

export const hourMs = 3_600_000;
const hourly: WindowSettings = { requests: 100, reserve: 0, windowMs: hourMs, arrivalMs: 500 };

interface Refreshed {
  share?: number;
  everyMs?: number;
  projects?: readonly string[];
  settings?: WindowSettings;
  /** How long ago its newest entries may have been read before they count as stale; unlimited unless given. */
  freshnessMs?: number;
}

/** A scene whose organization is refreshed. */
export function refreshScene(
  options: SandboxOptions,
  {
    share = 0.5,
    everyMs = 300_000,
    projects = ['prj_1'],
    settings = hourly,
    freshnessMs = 366 * 86_400_000,
  }: Refreshed = {},
): Promise<ActivityScene> {
  const refreshed = projects.map((project) => ({ project, weight: 1, atMostMs: null }));
  const receiver = {
    name: 'chat',
    format: 'slack',
    events: ['feedback.refreshed', 'feedback.missing', 'pass.failed'],
    url: () => '',
    secret: () => null,
  } as const;
  return activityScene(options, settings, {
    projects: projects.map((id) => ({ id, freshnessMs })),
    refresh: { share, everyMs, projects: refreshed },
    webhooks: [receiver],
  });
}

let attempts = 0;

/** One run as `refreshFeedback` does it, without Temporal, up to where it would wait for the budget. */
export async function refresh(
  scene: ActivityScene,
): Promise<RefreshPagesResult & { found: ProjectFindings[]; webhooks: string[] }> {
  attempts += 1;
  const run = { workflowId: 'refresh:acme-now', runId: `run-${attempts}` };
  const attempt = <T>(work: () => Promise<T>): Promise<T> =>
    mockActivity({ currentAttemptScheduledTimestampMs: Date.now(), workflowExecution: run }).run(work);
  const { refreshPages, finishRefresh } = createRefreshActivities(scene.deps);
  const startedAt = Date.now();
  const leg = await attempt(() => refreshPages({ org: 'acme', storeId: null }));
  const { projects: found, webhooks } = await attempt(() =>
    finishRefresh({
      org: 'acme',
      storeId: leg.storeId,
      outcome: 'completed',
      error: null,
      startedAt,
      finishedAt: Date.now(),
      nextDueAt: leg.nextDueAt,
    }),
  );
  return { ...leg, found, webhooks };
}
