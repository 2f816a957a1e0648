import { activityInfo } from '@temporalio/activity';

/**
 * When Temporal scheduled this attempt: now, by its clock, but for the time in the queue. What is kept, told or compared
 * goes by this one, because a worker's own may be wrong (decisions/0049).
 */
export const scheduledAt = (): Date => new Date(activityInfo().currentAttemptScheduledTimestampMs);
