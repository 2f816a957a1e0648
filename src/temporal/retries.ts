import type { WorkflowExecutionDescription } from '@temporalio/client';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import { clockTime } from '../rules/details-text.ts';

/** An activity that failed and is retried. */
export interface Retry {
  activity: string;
  attempt: number;
  /** Type and message of the last failure. */
  reason: string;
  /** When the next attempt begins, in milliseconds; null while one is at work. */
  nextAt: number | null;
}

/** The activities being retried, of a workflow that otherwise looks idle. */
export function retriesIn({ raw }: Pick<WorkflowExecutionDescription, 'raw'>): Retry[] {
  return (raw.pendingActivities ?? []).flatMap(({ activityType, attempt, lastFailure, nextAttemptScheduleTime }) => {
    if (!lastFailure || (attempt ?? 1) < 2) return [];
    const type = lastFailure.applicationFailureInfo?.type;
    const reason = `${type ? `${type}: ` : ''}${lastFailure.message ?? 'failed'}`;
    const nextAt = optionalTsToMs(nextAttemptScheduleTime) ?? null;
    return [{ activity: activityType?.name ?? 'a step', attempt: attempt ?? 1, reason, nextAt }];
  });
}

/** `tried again at 04:02:00 UTC (attempt 3)`. */
export function triedAgain({ attempt, nextAt }: Retry): string {
  return `tried again ${nextAt === null ? 'now' : `at ${clockTime(nextAt)}`} (attempt ${attempt})`;
}
