import type { ExportOutcome } from '../export/export-outcome.ts';
import type { WithHandover } from '../temporal-settings.ts';
import type { ScheduleTarget } from './schedule-target.ts';

/** Input of `runScheduled`: what it starts, and the handover of all that. */
export type ScheduledInput = ScheduleTarget & WithHandover;

/** Result of `runScheduled` (architecture.md). */
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
