import { createBundleActivities } from './bundle-versions.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { createJobActivities } from './export-jobs.ts';
import { createRecordActivities } from './export-records.ts';
import { createPageActivities } from './feedback-pages.ts';
import { createPassActivities } from './feedback-passes.ts';
import { createKeyActivities } from './key-checks.ts';
import { createRolloutActivities } from './site-rollouts.ts';
import { createWebhookActivities } from './webhook-deliveries.ts';

/** All activities of a worker. Workflows import this function's type only. */
export const createActivities = (deps: ActivityDependencies) => ({
  ...createPassActivities(deps),
  ...createPageActivities(deps),
  ...createJobActivities(deps),
  ...createBundleActivities(deps),
  ...createRolloutActivities(deps),
  ...createRecordActivities(deps),
  ...createKeyActivities(deps),
  ...createWebhookActivities(deps),
});

export type Activities = ReturnType<typeof createActivities>;
