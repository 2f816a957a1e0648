import { z } from 'zod/mini';
import type { ExportOutcome } from '../../exports/rules/site-export.ts';
import { own, reader, text } from '../../rules/messages.ts';
import type { ScheduleTarget } from '../../rules/workflow-ids.ts';
import type { WithFailover } from '../../temporal/rules/failover.ts';

/** Input of `runScheduled`: the workflow to start, and the failover of both. */
export type ScheduledInput = Extract<ScheduleTarget, { kind: 'export' }> & WithFailover;

const failover = own<WithFailover['failover']>();

/** Shape of the input (X5): a person may have edited the schedule. */
export const readScheduledInput = reader<ScheduledInput>(
  z.object({ kind: z.literal('export'), org: text(), domain: text(), failover }),
);

export interface ScheduledResult {
  /** The workflow that does the work, under its fixed id. */
  workflowId: string;
  /** Its first run; null when it was already running. */
  runId: string | null;
  /** `skipped`: a person had started the workflow already; `cancelled`: a person cancelled it; else its outcome. */
  outcome: 'skipped' | 'cancelled' | 'completed' | ExportOutcome;
  /** The version, counts, or the reason. */
  detail: string;
}
