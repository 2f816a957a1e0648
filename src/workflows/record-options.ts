import type { ActivityOptions } from '@temporalio/workflow';

/** The store's own transactions: short, so that a dead worker costs seconds, and tried for long. */
export const recordOptions = {
  startToCloseTimeout: '10s',
  scheduleToCloseTimeout: '1h',
  retry: { initialInterval: '500ms', maximumInterval: '30s' },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
} satisfies ActivityOptions;
