import type { ExportOutcome } from '../../exports/rules/export-outcome.ts';
import { oneOf, own, type Reader, record, text } from '../../rules/messages.ts';
import { readingKinds } from '../../feedback/rules/pass-kind.ts';
import type { WithHandover } from '../../temporal/rules/failover.ts';
import type { ScheduleTarget } from '../../rules/schedule-target.ts';

/** Input of `runScheduled`: what it starts, and the handover of all that. */
export type ScheduledInput = ScheduleTarget & WithHandover;

const handover = own<WithHandover['handover']>();
const readKind = record({ kind: oneOf(['export', 'sync'] as const) }, {});
const readExport = record({ kind: oneOf(['export'] as const), org: text, domain: text }, { handover });
const readSync = record(
  { kind: oneOf(['sync'] as const), org: text, project: text, pass: oneOf(readingKinds) },
  { handover },
);

/** Shape of the input (X5): a person may have edited the schedule. */
export const readScheduledInput: Reader<ScheduledInput> = (value, field) =>
  (readKind(value, field).kind === 'export' ? readExport : readSync)(value, field);

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
