import type { ActivityDependencies } from './dependencies.ts';
import {
  createApprovalActivities,
  createBundleActivities,
  createJobActivities,
  createRollbackActivities,
  createRolloutActivities,
} from './export-steps.ts';
import { createPageActivities } from './feedback-pages.ts';
import { createPassActivities } from './feedback-passes.ts';
import { createFetchActivities } from './fetch-bundle.ts';
import { whileMine } from './heartbeats.ts';
import { createKeyActivities } from './leases.ts';
import { createRecordActivities, createWebhookActivities } from './notices.ts';
import { createRefreshActivities } from './refresh-pages.ts';
import { createWatchActivities } from './watch-steps.ts';

/** All activities of a worker: what Temporal has given up changes nothing (E11). Workflows import this function's type only. */
export const createActivities = (given: ActivityDependencies) => activitiesOf(whileMine(given));

const activitiesOf = (deps: ActivityDependencies) => ({
  ...createPassActivities(deps),
  ...createPageActivities(deps),
  ...createRefreshActivities(deps),
  ...createJobActivities(deps),
  ...createFetchActivities(deps),
  ...createBundleActivities(deps),
  ...createApprovalActivities(deps),
  ...createRollbackActivities(deps),
  ...createRolloutActivities(deps),
  ...createRecordActivities(deps),
  ...createKeyActivities(deps),
  ...createWebhookActivities(deps),
  ...createWatchActivities(deps),
});

export type Activities = ReturnType<typeof createActivities>;
