import type { WorkflowExecutionDescription } from '@temporalio/client';

/** An activity that failed and is retried. */
export interface Retry {
  activity: string;
  attempt: number;
  /** Type and message of the last failure. */
  reason: string;
}

/** The activities being retried, of a workflow that otherwise looks idle. */
export function retriesIn({ raw }: Pick<WorkflowExecutionDescription, 'raw'>): Retry[] {
  return (raw.pendingActivities ?? []).flatMap(({ activityType, attempt, lastFailure }) => {
    if (!lastFailure || (attempt ?? 1) < 2) return [];
    const type = lastFailure.applicationFailureInfo?.type;
    const reason = `${type ? `${type}: ` : ''}${lastFailure.message ?? 'failed'}`;
    return [{ activity: activityType?.name ?? 'a step', attempt: attempt ?? 1, reason }];
  });
}
