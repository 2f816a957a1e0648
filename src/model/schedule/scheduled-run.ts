import type { ExportResult } from '../export/site-export.ts';

/** Result of `runScheduled` (architecture.md). */
export interface ScheduledResult {
  /** The workflow that does the work, under its fixed id. */
  workflowId: string;
  /** Its first run; null when it ran already. */
  runId: string | null;
  /**
   * `skipped`: the workflow ran already, started by a person; `cancelled`: somebody cancelled it; else how it ended.
   */
  outcome: 'skipped' | 'cancelled' | 'completed' | ExportResult['outcome'];
  /** A few words: the version, counts, or why. */
  detail: string;
}
